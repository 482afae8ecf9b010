package crashtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/child"
)

const (
	// exitKilled and exitTerminated are how the shell that watches over a worker
	// reports a SIGKILL and a SIGTERM.
	exitKilled     = 128 + 9
	exitTerminated = 128 + 15

	// stopGrace is more than a worker gives its last activities.
	stopGrace = 10 * time.Second
	// deathGrace is how long a death may be late that everything waits for.
	deathGrace = 5 * time.Second
)

// crew keeps the worker processes of a lane running. It knows the one death that
// was planned; every other end of a process is a failure of the harness.
type crew struct {
	program string // this program
	env     string // makes it a worker
	log     io.Writer
	death   *death // nil if nobody is to die
	onKill  func()

	running sync.WaitGroup
	stop    chan struct{} // closed to end the crew
	killed  chan struct{} // closed when the planned death was seen
	broken  chan struct{} // closed by the first fault

	mu     sync.Mutex
	faults []error
}

func newCrew(program, env string, log io.Writer, d *death) *crew {
	return &crew{
		program: program, env: env, log: log, death: d, onKill: func() {},
		stop: make(chan struct{}), killed: make(chan struct{}), broken: make(chan struct{}),
	}
}

// start starts n workers.
func (c *crew) start(n int) {
	for range n {
		c.running.Go(c.keep)
	}
}

// keep runs one worker process after the other, the next one as soon as the last
// is dead.
func (c *crew) keep() {
	for {
		p, err := child.Start(child.Options{
			Path: c.program, Env: []string{c.env}, Stdout: c.log, Stderr: c.log, Grace: stopGrace,
		})
		if err != nil {
			c.fail(fmt.Errorf("crashtest: start a worker: %w", err))
			return
		}
		stopping := false
		select {
		case <-p.Done():
		case <-c.stop:
			stopping = true
			p.Stop()
		}
		switch status := exitStatus(p); {
		case status == exitKilled && c.planned():
			c.onKill()
		case stopping && (status == 0 || status == exitTerminated):
		default:
			c.fail(fmt.Errorf("crashtest: a worker ended by itself with status %d; its last output:\n%s", status, p.Output()))
			return
		}
		if stopping {
			return
		}
	}
}

func exitStatus(p *child.Process) int {
	var exit *exec.ExitError
	if errors.As(p.Err(), &exit) {
		return exit.ExitCode()
	}
	return 0
}

// planned tells whether a worker that was killed is the one whose death was
// granted. There is only one.
func (c *crew) planned() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.death == nil || !c.death.isGranted() {
		return false
	}
	select {
	case <-c.killed:
		return false
	default:
		close(c.killed)
		return true
	}
}

func (c *crew) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, err)
	if len(c.faults) == 1 {
		close(c.broken)
	}
}

// whileSound returns a context that ends with the first fault: nobody must wait
// for orders that no worker pays.
func (c *crew) whileSound(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-c.broken:
			cancel(errors.New("crashtest: a worker failed"))
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// dismiss ends the workers and tells what went wrong with them: above all a
// death that was planned and did not happen.
func (c *crew) dismiss(ctx context.Context) error {
	happened := c.death == nil || c.await(ctx)
	close(c.stop)
	c.running.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !happened && ctx.Err() == nil && len(c.faults) == 0 {
		return fmt.Errorf("crashtest: no worker was killed %s", c.death.window)
	}
	return errors.Join(c.faults...)
}

// await waits for the planned death: where Temporal has heard, the orders can end
// before it.
func (c *crew) await(ctx context.Context) (happened bool) {
	select {
	case <-c.killed:
		return true
	case <-c.broken:
	case <-ctx.Done():
	case <-time.After(deathGrace):
	}
	return false
}
