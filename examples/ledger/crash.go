package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/child"
)

const (
	crews = 4 // worker processes at a time
	// exitKilled and exitTerminated are how the shell that watches over a worker
	// reports a SIGKILL and a SIGTERM.
	exitKilled     = 128 + 9
	exitTerminated = 128 + 15
)

// crew keeps worker processes running, each of which dies in a window, until there
// were enough deaths.
type crew struct {
	program string
	plan    plan
	kills   int
	out     io.Writer
	since   time.Time

	mu      sync.Mutex
	planned int
	dead    map[window]int
	fault   error

	running sync.WaitGroup
	stop    chan struct{}
	once    sync.Once
	cancel  context.CancelCauseFunc // ends the wait for transfers that no worker makes
}

// crash makes transfers for as long as workers are killed.
func (e *environment) crash(ctx context.Context, o options, out io.Writer) ([]outcome, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("ledger: find this program: %w", err)
	}
	c := &crew{program: program, plan: e.plan, kills: o.kills, out: out, since: time.Now(), dead: map[window]int{}, stop: make(chan struct{})}
	ctx, c.cancel = context.WithCancelCause(ctx)
	defer c.cancel(nil)
	say(out, "Dedupe", "%v; %d workers are killed, %d at a time ...", e.plan.Dedupe, o.kills, crews)
	for range crews {
		c.running.Go(c.keep)
	}
	made := e.move(ctx, 6*crews, func(int) bool { return c.over() })
	c.dismiss()
	c.running.Wait()
	if c.fault != nil {
		return nil, c.fault
	}
	for w := beforeReservation; w <= afterReport; w++ {
		if n := c.dead[w]; n > 0 {
			say(out, "Killed", "%3d %s", n, w)
		}
	}
	return made, context.Cause(ctx)
}

// keep runs one worker process after the other.
func (c *crew) keep() {
	for {
		p := c.plan
		p.Dies = c.next()
		env, err := p.environment()
		if err != nil {
			c.fail(err)
			return
		}
		process, err := child.Start(child.Options{Path: c.program, Env: []string{env}})
		if err != nil {
			c.fail(fmt.Errorf("ledger: start a worker: %w", err))
			return
		}
		stopping := false
		select {
		case <-process.Done():
		case <-c.stop:
			stopping = true
			process.Stop()
		}
		status := 0
		var exit *exec.ExitError
		if errors.As(process.Err(), &exit) {
			status = exit.ExitCode()
		}
		switch {
		case status == exitKilled && p.Dies != spared:
			c.died(p.Dies)
		case stopping && (status == 0 || status == exitTerminated):
		default:
			c.fail(fmt.Errorf("ledger: a worker ended by itself with status %d; its last output:\n%s", status, process.Output()))
			return
		}
		if stopping {
			return
		}
	}
}

// next is where the next worker dies.
func (c *crew) next() window {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.planned == c.kills {
		return spared
	}
	w := window(1 + c.planned%windows)
	if !c.plan.Dedupe && w == beforeReservation {
		w = afterCommit // there is no reservation
	}
	c.planned++
	return w
}

func (c *crew) died(w window) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead[w]++
	n := 0
	for _, m := range c.dead {
		n += m
	}
	if n%10 == 0 {
		say(c.out, "Kill", "%3d  %5.1f s  %s", n, time.Since(c.since).Seconds(), w)
	}
}

// over tells whether all have died that should, or something is broken.
func (c *crew) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, m := range c.dead {
		n += m
	}
	return n == c.kills || c.fault != nil
}

// fail ends everything.
func (c *crew) fail(err error) {
	c.mu.Lock()
	c.fault = errors.Join(c.fault, err)
	c.mu.Unlock()
	c.cancel(err)
	c.dismiss()
}

func (c *crew) dismiss() { c.once.Do(func() { close(c.stop) }) }
