package crashtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
)

// pause is how a worker is stopped and the parent lets it go on: a file that
// exists meanwhile. Empty, it is no pause.
type pause string

func newPause() (pause, error) {
	f, err := os.CreateTemp("", "crashtest-pause-")
	if err != nil {
		return "", fmt.Errorf("crashtest: pause of a worker: %w", err)
	}
	return pause(f.Name()), f.Close()
}

// end lets the worker go on.
func (p pause) end() error {
	if p == "" {
		return nil
	}
	if err := os.Remove(string(p)); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("crashtest: end the pause of a worker: %w", err)
	}
	return nil
}

// take stops this process, and returns when it goes on. A shell does both: a
// process that is stopped cannot start itself again.
func (p pause) take(ctx context.Context) error {
	if p == "" {
		return nil
	}
	const script = `kill -STOP "$0"; while [ -e "$1" ]; do sleep 1; done; kill -CONT "$0"`
	if err := exec.CommandContext(ctx, "/bin/sh", "-c", script, strconv.Itoa(os.Getpid()), string(p)).Run(); err != nil {
		return fmt.Errorf("crashtest: suspend the worker: %w", err)
	}
	return nil
}
