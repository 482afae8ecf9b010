package dedupe_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	dedupe "github.com/seed5aa7bdf6/temporal-dedupe"
)

// race is a workflow of two branches, each of which prepares and then charges.
// Who is prepared first charges first.
type race struct {
	*bundle
	*provider
	client client.Client
	mark   func(ctx workflow.Context, branch string) workflow.Context

	mu     sync.Mutex
	order  []string        // in which the branches are prepared, from now on
	passed map[string]bool // those that were
}

func newRace(t *testing.T, mark func(workflow.Context, string) workflow.Context) *race {
	t.Helper()
	r := &race{bundle: setup(t), provider: newProvider(), mark: mark}
	r.prepare("A", "B")
	plugin, err := dedupe.NewPlugin(dedupe.Options{Store: r.store, Policies: dedupe.Policies{"Charge": {}}})
	require.NoError(t, err)
	r.client = r.bundle.client(plugin)
	r.work(r.client, r.queue, func(reg worker.Registry) {
		registerWorkflow(reg, "race", r.run)
		register(reg, "Prepare", r.wait)
		r.provider.register(reg)
	})
	return r
}

func (r *race) run(ctx workflow.Context, failFirst bool) error {
	wg, failed := workflow.NewWaitGroup(ctx), error(nil)
	for _, branch := range []string{"A", "B"} {
		wg.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer wg.Done()
			if err := r.branch(ctx, branch); err != nil {
				failed = err
			}
		})
	}
	wg.Wait(ctx)
	if failed == nil && failFirst && workflow.GetInfo(ctx).Attempt == 1 {
		r.prepare("B", "A")
		failed = errors.New("failed in the end")
	}
	return failed
}

func (r *race) branch(ctx workflow.Context, branch string) error {
	err := workflow.ExecuteActivity(options(ctx), "Prepare", branch).Get(ctx, nil)
	if err != nil {
		return err
	}
	switch got, err := charge(r.mark(ctx, branch), branch); {
	case err != nil:
		return err
	case got != "charged "+branch:
		return temporal.NewNonRetryableApplicationError(branch+" got "+got, "Crossed", nil)
	}
	return nil
}

// prepare sets the order in which branches are prepared.
func (r *race) prepare(order ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.order, r.passed = order, map[string]bool{}
}

// wait is the activity Prepare, which waits for its branch's turn: until the
// other one has charged, or been refused.
func (r *race) wait(ctx context.Context, branch string) error {
	for {
		r.mu.Lock()
		first := r.order[0] == branch || r.passed[r.order[0]]
		r.passed[branch] = r.passed[branch] || first
		r.mu.Unlock()
		if first {
			if r.order[0] != branch {
				<-time.After(500 * time.Millisecond) // the other one's charge is scheduled by then
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(tick):
		}
	}
}

func TestBranchesThatRace(t *testing.T) {
	t.Parallel()
	marks := map[string]struct {
		mark      func(workflow.Context, string) workflow.Context
		conflicts bool
	}{
		"by number conflict, naming the remedies": {func(ctx workflow.Context, _ string) workflow.Context { return ctx }, true},
		"with step keys replay":                   {dedupe.WithStepKey, false},
		"numbered by arguments replay": {func(ctx workflow.Context, _ string) workflow.Context {
			return dedupe.WithNumberByArguments(ctx)
		}, false},
	}
	for name, m := range marks {
		check := func(t *testing.T, r *race, err error) {
			t.Helper()
			require.Equal(t, []string{"A", "B"}, r.made())
			if !m.conflicts {
				require.NoError(t, err)
				return
			}
			app := requireErrType(t, err, dedupe.ErrTypeConflict)
			require.Contains(t, app.Error(), "another run")
			require.Contains(t, app.Error(), "dedupe.WithStepKey")
			require.Contains(t, app.Error(), "dedupe.WithNumberByArguments")
		}
		t.Run(name+", when the order differs after a reset", func(t *testing.T) {
			t.Parallel()
			r := newRace(t, m.mark)
			run := r.start(r.client, r.queue, "race", false)
			require.NoError(t, run.Get(t.Context(), nil))
			r.prepare("B", "A")
			check(t, r, r.reset(r.client, run, 1).Get(t.Context(), nil))
		})
		t.Run(name+", when the order differs in a workflow retry", func(t *testing.T) {
			t.Parallel()
			r := newRace(t, m.mark)
			run, err := r.client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
				ID: r.queue, TaskQueue: r.queue, RetryPolicy: &temporal.RetryPolicy{InitialInterval: tick, MaximumAttempts: 2},
			}, "race", true)
			require.NoError(t, err)
			check(t, r, run.Get(t.Context(), nil))
		})
	}
}

// Nothing in their activities' arguments tells these children apart.
func TestChildrenThatRace(t *testing.T) {
	t.Parallel()
	r := newRace(t, nil)
	c, races, family := r.bundle.client(r.plugin()), r.queue, r.queue+"-family"
	r.work(c, family, func(reg worker.Registry) {
		registerWorkflow(reg, "parent", func(ctx workflow.Context) error {
			wg, failed := workflow.NewWaitGroup(ctx), error(nil)
			for _, customer := range []string{"A", "B"} {
				wg.Add(1)
				workflow.Go(ctx, func(ctx workflow.Context) {
					defer wg.Done()
					// On the queue of the race, where it is not deduplicated.
					err := workflow.ExecuteActivity(workflow.WithTaskQueue(options(ctx), races), "Prepare", customer).Get(ctx, nil)
					if err == nil {
						err = bear(ctx, "onboard", "", customer)
					}
					if err != nil {
						failed = err
					}
				})
			}
			wg.Wait(ctx)
			return failed
		})
		registerWorkflow(reg, "onboard", func(ctx workflow.Context, _ string) error {
			_, err := charge(ctx, "the same")
			return err
		})
		r.provider.register(reg)
	})
	r.bundle.queue = family
	run := r.start(c, family, "parent")
	require.NoError(t, run.Get(t.Context(), nil))
	r.prepare("B", "A")
	app := requireErrType(t, r.reset(c, run, 1).Get(t.Context(), nil), dedupe.ErrTypeConflict)
	require.Contains(t, app.Error(), "child workflow was started with other arguments")
	require.Len(t, r.made(), 2)
}

// The workflow is thrown out of the worker's cache all the time, so that each
// workflow task replays it from the beginning.
func TestBranchesReplayedFromAColdCache(t *testing.T) {
	t.Parallel()
	const rounds = 120
	b, p := setup(t), newProvider()
	c := b.client(b.plugin())
	var loads atomic.Int32
	both := func(ctx workflow.Context) error {
		loads.Add(1)
		wg, failed := workflow.NewWaitGroup(ctx), error(nil)
		for _, branch := range []string{"A", "B"} {
			wg.Add(1)
			workflow.Go(ctx, func(ctx workflow.Context) {
				defer wg.Done()
				for round := range rounds {
					amount := fmt.Sprint(branch, round)
					if got, err := charge(ctx, amount); err != nil || got != "charged "+amount {
						failed = errors.Join(failed, err, fmt.Errorf("%s got %q", amount, got))
					}
				}
			})
		}
		wg.Wait(ctx)
		return failed
	}
	b.work(c, b.queue, func(r worker.Registry) {
		registerWorkflow(r, "both", both)
		p.register(r)
	})
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
				worker.PurgeStickyWorkflowCache()
			}
		}
	}()
	defer func() { close(done); <-stopped }()
	run := b.start(c, b.queue, "both")
	require.NoError(t, run.Get(t.Context(), nil))
	require.Len(t, p.made(), 2*rounds)
	require.GreaterOrEqual(t, loads.Load(), int32(50), "the cache was cold")
	requireNoFailedTask(t, b.history(c, run))
}
