package devserver_test

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/devserver"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/devserver/devservertest"
)

func double(_ context.Context, n int) (int, error) { return 2 * n, nil }

func doubleTwice(ctx workflow.Context, n int) (int, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	for range 2 {
		if err := workflow.ExecuteActivity(ctx, double, n).Get(ctx, &n); err != nil {
			return 0, err
		}
	}
	return n, nil
}

func requireClient(t *testing.T, s *devserver.Server) client.Client {
	t.Helper()
	c, err := client.Dial(client.Options{
		HostPort: s.Address(), Namespace: s.Namespace(),
		Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func TestServer(t *testing.T) {
	t.Parallel()
	s := devservertest.RequireServer(t)
	require.Same(t, s, devservertest.RequireServer(t))
	c := requireClient(t, s)
	w := worker.New(c, "devserver-test", worker.Options{})
	w.RegisterActivity(double)
	w.RegisterWorkflow(doubleTwice)
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)

	t.Run("a workflow runs at once", func(t *testing.T) {
		run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: "devserver-test"}, doubleTwice, 5)
		require.NoError(t, err)
		var n int
		require.NoError(t, run.Get(t.Context(), &n))
		require.Equal(t, 20, n)
	})

	t.Run("a standalone activity runs", func(t *testing.T) {
		if s.Origin() == devserver.OriginCLI {
			t.Skip("the server comes from " + s.Origin() + ", whose version decides")
		}
		handle, err := c.ExecuteActivity(t.Context(), client.StartActivityOptions{
			ID: "standalone", TaskQueue: "devserver-test", StartToCloseTimeout: time.Minute,
		}, double, 21)
		require.NoError(t, err)
		var n int
		require.NoError(t, handle.Get(t.Context(), &n))
		require.Equal(t, 42, n)
	})
}

func TestServerOfAKilledProcess(t *testing.T) {
	t.Parallel()
	devservertest.RequireServer(t) // builds it, or skips
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	// Without an address, so that it starts one of its own.
	cmd.Env = append(os.Environ(), parentVar+"=1", devserver.AddressVar+"=")
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	address, readErr := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, cmd.Process.Signal(syscall.SIGKILL))
	require.Error(t, cmd.Wait())
	require.NoError(t, readErr)

	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", strings.TrimSpace(address))
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	}, 30*time.Second, 20*time.Millisecond, "the server outlived its parent")
}

// Not parallel, like every test that sets environment variables.
func TestStartWithAnAddress(t *testing.T) {
	s := devservertest.RequireServer(t)
	t.Setenv(devserver.AddressVar, s.Address())

	t.Run("the server is used, and left running by Stop", func(t *testing.T) {
		found, err := devserver.Start(t.Context(), devserver.Options{Log: io.Discard})
		require.NoError(t, err)
		require.Equal(t, devserver.OriginEnvironment, found.Origin())
		require.Equal(t, s.Address(), found.Address())
		found.Stop()
		requireClient(t, s)
	})

	t.Run("a namespace that does not exist is named, and the variable that chooses it", func(t *testing.T) {
		t.Setenv(devserver.NamespaceVar, "elsewhere")
		_, err := devserver.Start(t.Context(), devserver.Options{Log: io.Discard})
		require.ErrorContains(t, err, `no namespace "elsewhere"`)
		require.ErrorContains(t, err, devserver.NamespaceVar)
	})

	t.Run("an address that does not answer is an error with a remedy, not a reason to start a server", func(t *testing.T) {
		t.Setenv(devserver.AddressVar, "127.0.0.1:1")
		_, err := devserver.Start(t.Context(), devserver.Options{Log: io.Discard})
		require.ErrorContains(t, err, "TEMPORAL_ADDRESS is 127.0.0.1:1")
		require.ErrorContains(t, err, "unset TEMPORAL_ADDRESS")
		require.NotErrorIs(t, err, devserver.ErrUnavailable)
	})
}
