package crashtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// workflowTaskTimeout is what it takes Temporal to notice that a workflow task
// was lost with its worker.
const workflowTaskTimeout = 2 * time.Second

// LaneOptions says what the workers of a lane do, and what is done to them.
type LaneOptions struct {
	// DatabaseURL is where the workers keep their records. Empty: without
	// deduplication.
	DatabaseURL string
	// Policy is the takeover policy. Defaults to store.Reexecute.
	Policy store.TakeoverPolicy
	// Keys is the provider that is charged. Defaults to IgnoresKeys.
	Keys Keys
	// Orders is how many orders share the workers. Defaults to 8.
	Orders int
	// Workers is how many processes there are. Defaults to 1.
	Workers int
	// Window is where the victim's worker is killed, once. Zero kills nobody.
	Window Window
	// Victim is the place of the designated order. Defaults to the first.
	Victim int
	// Stall is how long the victim's first body runs, whatever its context
	// says. Defaults to no time.
	Stall time.Duration
	// Suspend stops the victim's worker, like a virtual machine that migrates,
	// when its first body is about to charge, until all orders have ended. It
	// takes two Workers.
	Suspend bool
	// Pace is the time from the start of one order to the start of the next.
	// Defaults to none: they start together.
	Pace time.Duration
	// OnKill is called when a worker was killed, with the number of orders that
	// had not ended. Defaults to nothing.
	OnKill func(open int)
	// WorkerLog receives what the workers write. Defaults to nowhere; an error
	// quotes the end of it in any case.
	WorkerLog io.Writer
}

const defaultOrders = 8

// withDefaults fills what the zero value leaves open.
func (o LaneOptions) withDefaults() LaneOptions {
	o.Policy = cmp.Or(o.Policy, store.Reexecute)
	o.Keys = cmp.Or(o.Keys, IgnoresKeys)
	o.Orders = cmp.Or(o.Orders, defaultOrders)
	o.Workers = cmp.Or(o.Workers, 1)
	if o.OnKill == nil {
		o.OnKill = func(int) {}
	}
	return o
}

// validate names the first field that cannot be used.
func (o LaneOptions) validate() error {
	switch {
	case o.Orders < 0 || o.Workers < 0:
		return fmt.Errorf("crashtest: LaneOptions: Orders is %d and Workers %d, want no less than 0", o.Orders, o.Workers)
	case o.Stall < 0 || o.Pace < 0:
		return fmt.Errorf("crashtest: LaneOptions: Stall is %s and Pace %s, want no less than 0", o.Stall, o.Pace)
	case o.Suspend && o.Workers < 2:
		return fmt.Errorf("crashtest: LaneOptions: Suspend with %d worker, which nobody would replace", o.Workers)
	case o.Victim < 0 || o.Victim >= o.Orders:
		return fmt.Errorf("crashtest: LaneOptions.Victim is %d, want 0 to %d", o.Victim, o.Orders-1)
	}
	return nil
}

// Lane is a task queue with workers of its own, and orders for them.
type Lane struct {
	bench   *Bench
	options LaneOptions
	orders  []*order
	queue   string
	crew    *crew
	pause   pause
	open    atomic.Int32 // orders that have not ended
}

// order is an order of a lane and how its workflow ended.
type order struct {
	Order
	death    *death // of the victim
	chargeID string
	err      error
}

// OpenLane starts the workers of a new lane. Close it.
func (b *Bench) OpenLane(o LaneOptions) (*Lane, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	l := &Lane{bench: b, options: o, queue: b.nextQueue()}
	for i := range o.Orders {
		l.orders = append(l.orders, &order{Order: Order{ID: fmt.Sprintf("%s-%04d", l.queue, i), Cents: cents}})
	}
	l.open.Store(int32(o.Orders))
	victim := l.orders[o.Victim]
	if o.Window != 0 {
		victim.death = b.house.designate(victim.ID, o.Window)
	}
	if o.Suspend {
		var err error
		if l.pause, err = newPause(); err != nil {
			return nil, err
		}
	}
	env, err := plan{
		TemporalAddress: b.address, Namespace: b.namespace, TaskQueue: l.queue,
		DatabaseURL: o.DatabaseURL, HouseURL: b.house.url, Keys: o.Keys, Policy: o.Policy,
		Victim: victim.ID, Window: o.Window, Stall: o.Stall, Pause: l.pause,
	}.environment()
	if err != nil {
		return nil, err
	}
	l.crew = newCrew(b.program, env, o.WorkerLog, victim.death)
	l.crew.onKill = func() { o.OnKill(int(l.open.Load())) }
	l.crew.start(o.Workers)
	return l, nil
}

// Pay starts a workflow for each order and waits until all have ended. How they
// ended is in Accounts; the error tells of the harness alone.
func (l *Lane) Pay(ctx context.Context) error {
	ctx, cancel := l.crew.whileSound(ctx)
	defer cancel()
	pace := newPacer(l.options.Pace)
	defer pace.stop()
	var wait sync.WaitGroup
	for _, o := range l.orders {
		wait.Go(func() {
			defer l.open.Add(-1)
			o.chargeID, o.err = l.pay(ctx, o.Order)
		})
		pace.wait(ctx)
	}
	wait.Wait()
	return context.Cause(ctx)
}

func (l *Lane) pay(ctx context.Context, o Order) (chargeID string, err error) {
	run, err := l.bench.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: o.ID, TaskQueue: l.queue,
		WorkflowExecutionTimeout: orderTimeout, WorkflowTaskTimeout: workflowTaskTimeout,
	}, PayOrder, o)
	if err != nil {
		return "", err
	}
	err = run.Get(ctx, &chargeID)
	return chargeID, err
}

// Close lets a suspended worker go on and stops all of them, when what they are
// at is done. Its error tells of those that ended by themselves, and of a kill
// that did not happen.
func (l *Lane) Close(ctx context.Context) error {
	err := l.pause.end()
	return errors.Join(err, l.crew.dismiss(ctx))
}

// Begun tells how many bodies the order in a place has begun.
func (l *Lane) Begun(place int) int { return l.bench.house.begun(l.orders[place].ID) }

// Started tells how many workers have started, those that were killed among them.
func (l *Lane) Started() int { return l.bench.house.started(l.queue) }
