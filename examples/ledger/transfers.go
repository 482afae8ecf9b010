package main

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
)

// outcome is how a transfer ended.
type outcome struct {
	transfer Transfer
	booking  Booking
	err      error
}

// move makes transfers, so many at a time, until it is told that there are enough,
// and returns how they ended.
func (e *environment) move(ctx context.Context, parallel int, enough func(n int) bool) []outcome {
	var mu sync.Mutex
	var made []outcome
	var all sync.WaitGroup
	next := 0
	for range parallel {
		all.Go(func() {
			for ctx.Err() == nil {
				mu.Lock()
				n := next
				done := enough(n)
				next++
				mu.Unlock()
				if done {
					return
				}
				o := outcome{transfer: e.books.transfer(n)}
				o.booking, o.err = e.moveOne(ctx, o.transfer)
				mu.Lock()
				made = append(made, o)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return made
}

func (e *environment) moveOne(ctx context.Context, t Transfer) (b Booking, err error) {
	run, err := e.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: t.ID, TaskQueue: e.plan.TaskQueue,
		WorkflowExecutionTimeout: 2 * time.Minute, WorkflowTaskTimeout: 2 * time.Second,
	}, Move, t)
	if err == nil {
		err = run.Get(ctx, &b)
	}
	return b, err
}

var errFault = errors.New("ledger: a fault of this demo")

// fail makes transfers whose activity fails: one in three before the commit, and one
// in three after it.
func (e *environment) fail(ctx context.Context, o options, out io.Writer) ([]outcome, error) {
	var failed sync.Map
	at := func(third int) func(context.Context, Transfer) error {
		return func(_ context.Context, t Transfer) error {
			if t.Cents%3 != int64(third) {
				return nil
			}
			if _, again := failed.LoadOrStore(t.ID, true); again {
				return nil
			}
			return errFault
		}
	}
	none := func(context.Context, Transfer) error { return nil }
	stop, err := startWorker(ctx, e.plan, Faults{Before: none, Inside: at(1), After: at(2)}, nil)
	if err != nil {
		return nil, err
	}
	defer stop()
	say(out, "Faults", "the activity fails once before its commit in a third of the transfers, and once after it in another third")
	say(out, "Dedupe", "%v; making %d transfers between %d accounts ...", e.plan.Dedupe, o.transfers, accounts)
	made := e.move(ctx, 16, func(n int) bool { return n >= o.transfers })
	return made, context.Cause(ctx)
}
