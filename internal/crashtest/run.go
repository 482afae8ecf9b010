package crashtest

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"
)

// Run kills a worker in every cell, as often as Options.Rounds says, and reports
// what became of the orders. Its error tells of the harness: services that do
// not start, a worker that ended by itself, a kill that did not happen. Broken
// promises are in the report.
func Run(ctx context.Context, o Options) (Report, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return Report{}, err
	}
	s, err := startServices(ctx, o)
	if err != nil {
		return Report{}, err
	}
	defer s.stop()
	r := &run{options: o, services: s, cells: o.cells(), begun: time.Now()}
	say(o.Out, "Kills", "%d cells, %d at a time; each kill takes a worker with %d orders", len(r.cells), min(o.Parallel, len(r.cells)), o.Orders)
	if err := r.all(ctx); err != nil {
		return Report{}, err
	}
	return r.report(), nil
}

// run is a run under way.
type run struct {
	options  Options
	services *services
	begun    time.Time

	mu    sync.Mutex
	cells []*Cell
	kills int
}

// all runs every cell in every round, and stops at the first failure.
func (r *run) all(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	places := make(chan struct{}, r.options.Parallel)
	var wait sync.WaitGroup
	for round := range r.options.Rounds {
		for _, c := range r.cells {
			select {
			case places <- struct{}{}:
			case <-ctx.Done():
			}
			if ctx.Err() != nil {
				break
			}
			wait.Go(func() {
				defer func() { <-places }()
				if err := r.one(ctx, c, round); err != nil {
					cancel(err)
				}
			})
		}
	}
	wait.Wait()
	return context.Cause(ctx)
}

// one runs a cell once. The designated order is another one in each round.
func (r *run) one(ctx context.Context, c *Cell, round int) error {
	url := r.services.databaseURL
	lane, err := r.services.bench.OpenLane(LaneOptions{
		DatabaseURL: url, Policy: c.Policy, Keys: c.Keys, Orders: r.options.Orders,
		Window: c.Window, Victim: (r.options.Orders/2 + round) % r.options.Orders,
		OnKill:    func(open int) { r.killed(c, open) },
		WorkerLog: r.options.WorkerLog,
	})
	if err != nil {
		return err
	}
	payErr := lane.Pay(ctx)
	if err := cmp.Or(lane.Close(ctx), payErr); err != nil {
		return fmt.Errorf("%w\n(%s, %s, keys %s)", err, c.Window, c.policy(), c.Keys)
	}
	accounts, err := lane.Accounts(ctx, url)
	if err != nil {
		return err
	}
	if r.options.DatabaseURL != "" && url != "" {
		if err := lane.forget(ctx, url); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	broken := len(c.Broken)
	c.Add(accounts)
	for _, text := range c.Broken[broken:] {
		say(r.options.Out, "BROKEN", "%s", text)
	}
	return nil
}

// killed prints the line of a kill.
func (r *run) killed(c *Cell, open int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kills++
	say(r.options.Out, fmt.Sprintf("kill %4d", r.kills), "%5.1f s  %-41s %-10s keys %-8s %d of %d orders open",
		time.Since(r.begun).Seconds(), c.Window, c.policy(), string(c.Keys)+",", open, r.options.Orders)
}

// policy is the policy's name for people.
func (c *Cell) policy() string { return cmp.Or(string(c.Policy), "no dedupe") }

func (r *run) report() Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	report := Report{WithoutDedupe: r.options.WithoutDedupe, Elapsed: time.Since(r.begun)}
	for _, c := range r.cells {
		report.Cells = append(report.Cells, *c)
	}
	return report
}
