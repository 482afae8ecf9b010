//go:build unix

package child_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/child"
)

// forever is a program that ends only when it is told to.
var forever = []string{"-c", "exec sleep 600"}

func requireStart(t *testing.T, o child.Options) *child.Process {
	t.Helper()
	if o.Path == "" {
		o.Path = "sh"
	}
	p, err := child.Start(o)
	require.NoError(t, err)
	t.Cleanup(p.Kill)
	return p
}

func TestProcess(t *testing.T) {
	t.Parallel()

	t.Run("Err is nil while the program runs", func(t *testing.T) {
		t.Parallel()
		p := requireStart(t, child.Options{Args: forever})
		require.NoError(t, p.Err())
	})

	t.Run("Kill ends a program that ignores every signal it can", func(t *testing.T) {
		t.Parallel()
		p := requireStart(t, child.Options{Args: []string{"-c", "trap '' TERM INT QUIT; while :; do sleep 1; done"}})
		p.Kill()
		p.Kill()
		require.Error(t, p.Err())
	})

	t.Run("Stop kills a program that outlasts the grace", func(t *testing.T) {
		t.Parallel()
		var out lines
		p := requireStart(t, child.Options{
			Args: []string{"-c", "trap '' TERM; echo ready; while :; do sleep 1; done"}, Stdout: &out, Grace: 50 * time.Millisecond,
		})
		out.requireLine(t, "ready")
		p.Stop()
		require.Error(t, p.Err())
	})

	t.Run("Stop sends the stop signal and may be repeated", func(t *testing.T) {
		t.Parallel()
		self, err := os.Executable()
		require.NoError(t, err)
		for name, signal := range map[string]syscall.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "QUIT": syscall.SIGQUIT} {
			var out lines
			p := requireStart(t, child.Options{Path: self, Env: []string{signalVar + "=1"}, Stdout: &out, StopSignal: name})
			out.requireLine(t, "ready")
			p.Stop()
			p.Stop()
			require.NoError(t, p.Err())
			require.Contains(t, p.Output(), "got "+signal.String())
		}
	})

	t.Run("Wait quotes the end of the output of a program that failed", func(t *testing.T) {
		t.Parallel()
		p := requireStart(t, child.Options{Args: []string{"-c", "echo first; echo no such thing >&2; exit 3"}})
		err := p.Wait(t.Context())
		require.ErrorContains(t, err, "exit status 3")
		require.ErrorContains(t, err, "no such thing")
	})

	t.Run("Wait stops the program when the context ends", func(t *testing.T) {
		t.Parallel()
		p := requireStart(t, child.Options{Args: forever})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, p.Wait(ctx), context.Canceled)
		require.Error(t, p.Err())
	})

	t.Run("output longer than an error should be is cut at the front", func(t *testing.T) {
		t.Parallel()
		p := requireStart(t, child.Options{Args: []string{"-c", "for i in $(seq 9999); do echo $i; done"}})
		require.NoError(t, p.Wait(t.Context()))
		require.LessOrEqual(t, len(p.Output()), 4096)
		require.True(t, strings.HasSuffix(p.Output(), "\n9999\n"))
	})

	t.Run("standard output and error can be told apart", func(t *testing.T) {
		t.Parallel()
		var stdout, stderr bytes.Buffer
		p := requireStart(t, child.Options{Args: []string{"-c", "echo out; echo err >&2"}, Stdout: &stdout, Stderr: &stderr})
		require.NoError(t, p.Wait(t.Context()))
		require.Equal(t, "out\n", stdout.String())
		require.Equal(t, "err\n", stderr.String())
	})

	t.Run("the environment, directory and arguments reach the program as they are", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		p := requireStart(t, child.Options{
			Args: []string{"-c", `printf '%s|' "$GREETING" "$1"; pwd -P`, "sh", "a 'quoted' $word"},
			Env:  []string{"GREETING=two words"}, Dir: dir,
		})
		require.NoError(t, p.Wait(t.Context()))
		require.True(t, strings.HasPrefix(p.Output(), "two words|a 'quoted' $word|"), p.Output())
		require.Contains(t, p.Output(), dir)
	})

	t.Run("a signal reaches a program that handles it", func(t *testing.T) {
		t.Parallel()
		var out lines
		p := requireStart(t, child.Options{Args: []string{"-c", "trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done"}, Stdout: &out})
		out.requireLine(t, "ready")
		p.Signal(syscall.SIGTERM)
		var exit *exec.ExitError
		require.ErrorAs(t, p.Wait(t.Context()), &exit)
		require.Equal(t, 7, exit.ExitCode())
	})

	t.Run("root can start a program as another user", func(t *testing.T) {
		t.Parallel()
		if os.Geteuid() != 0 {
			_, err := child.Start(child.Options{Path: "sh", User: &child.User{UID: 65534, GID: 65534}})
			require.ErrorContains(t, err, "Options.User")
			return
		}
		p := requireStart(t, child.Options{Args: []string{"-c", "id -u; id -g"}, User: &child.User{UID: 65534, GID: 65534}, Dir: "/"})
		require.NoError(t, p.Wait(t.Context()))
		require.Equal(t, "65534\n65534\n", p.Output())
	})
}

func TestStart(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options child.Options
		want    string
	}{
		"a grace below zero is refused":          {child.Options{Path: "sh", Grace: -1}, "Options.Grace"},
		"a program that does not exist is named": {child.Options{Path: "no-such-program"}, "no-such-program"},
		"a stop signal nobody knows is refused":  {child.Options{Path: "sh", StopSignal: "HUP"}, "Options.StopSignal"},
		"an empty path is refused":               {child.Options{}, "Options.Path"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := child.Start(test.options)
			require.ErrorContains(t, err, test.want)
		})
	}
}

func TestFreePort(t *testing.T) {
	t.Parallel()
	t.Run("ports differ from call to call", func(t *testing.T) {
		t.Parallel()
		seen := make(map[int]bool)
		for range 50 {
			port, err := child.FreePort()
			require.NoError(t, err)
			require.False(t, seen[port], "port %d was given out twice", port)
			seen[port] = true
		}
	})
}
