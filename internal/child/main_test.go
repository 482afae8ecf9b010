//go:build unix

package child_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/child"
)

const (
	// scriptVar makes this test binary start its value as a shell script and wait
	// to be killed.
	scriptVar = "CHILD_TEST_SCRIPT"
	dirVar    = "CHILD_TEST_ORPHAN_DIR"
	// signalVar makes it wait for a signal, and print it.
	signalVar = "CHILD_TEST_SIGNAL"
)

func TestMain(m *testing.M) {
	if script := os.Getenv(scriptVar); script != "" {
		parent(script)
		return
	}
	if os.Getenv(signalVar) != "" {
		printSignal()
		return
	}
	goleak.VerifyTestMain(m)
}

// parent is the process that dies: it starts the script and never stops it.
func parent(script string) {
	p, err := child.Start(child.Options{
		Path: "sh", Args: []string{"-c", script}, Stdout: os.Stdout, Stderr: os.Stderr,
		Grace: time.Second, OrphanDir: os.Getenv(dirVar),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	<-p.Done()
	os.Exit(1)
}

func printSignal() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT)
	fmt.Println("ready")
	fmt.Println("got", <-c)
}

// RequireOrphan starts the script, which prints its process ID first, in a
// process that is killed at once, and returns the ID.
func RequireOrphan(t *testing.T, script, dir string) int {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), scriptVar+"="+script, dirVar+"="+dir)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())

	line, readErr := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, cmd.Process.Signal(syscall.SIGKILL))
	require.Error(t, cmd.Wait(), "the parent ended before it was killed")
	require.NoError(t, readErr)
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	return pid
}

// RequireGone waits until the process has ended.
func RequireGone(t *testing.T, pid int) {
	t.Helper()
	require.Eventually(t, func() bool { return !running(pid) }, 20*time.Second, 10*time.Millisecond,
		"process %d outlived its parent", pid)
}

// running reports whether a process exists and is more than an exit status that
// nobody has collected.
func running(pid int) bool {
	if syscall.Kill(pid, 0) == syscall.ESRCH {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true // no /proc here
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}
