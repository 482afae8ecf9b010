package dedupe_test

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	dedupe "github.com/seed5aa7bdf6/temporal-dedupe"
)

// thrice is a workflow of three runs, each of which makes two calls.
func thrice(again func(ctx workflow.Context, run int) error) func(workflow.Context, int) error {
	return func(ctx workflow.Context, run int) error {
		for _, amount := range []string{"10", "20"} {
			want := "charged " + strconv.Itoa(run) + "-" + amount
			switch got, err := charge(ctx, strconv.Itoa(run)+"-"+amount); {
			case err != nil:
				return err
			case got != want:
				return errors.New("crossed: got " + got + ", want " + want)
			}
		}
		if run == 2 {
			return nil
		}
		return again(ctx, run+1)
	}
}

// Both forms in which a workflow continues as new.
var continuations = map[string]func(workflow.Context, int) error{
	"NewContinueAsNewError": func(ctx workflow.Context, run int) error {
		return workflow.NewContinueAsNewError(ctx, "thrice", run)
	},
	"NewContinueAsNewErrorWithOptions": func(ctx workflow.Context, run int) error {
		return workflow.NewContinueAsNewErrorWithOptions(ctx, workflow.ContinueAsNewErrorOptions{}, "thrice", run)
	},
}

func TestResetOfContinuedRuns(t *testing.T) {
	t.Parallel()
	for form, again := range continuations {
		for i, which := range []string{"the first run", "a middle run", "the last run"} {
			if i > 0 && form != "NewContinueAsNewError" {
				continue // the first run has shown that the form tells the next run its place
			}
			t.Run(which+" replays, and so do the runs that follow it, by "+form, func(t *testing.T) {
				t.Parallel()
				b, p := setup(t), newProvider()
				c := b.client(b.plugin())
				b.work(c, b.queue, func(r worker.Registry) {
					registerWorkflow(r, "thrice", thrice(again))
					p.register(r)
				})
				runs := b.follow(c, b.start(c, b.queue, "thrice", 0))
				require.Len(t, runs, 3)
				require.Len(t, p.made(), 6)

				reset := b.reset(c, runs[i], 1)
				require.Len(t, b.follow(c, reset), 3-i)
				require.Len(t, p.made(), 6, "no body ran again")

				// And of the reset run once more, to the middle of it.
				again := b.reset(c, reset, 2)
				require.NoError(t, again.Get(t.Context(), nil))
				require.Len(t, p.made(), 6, "no body ran again")
			})
		}
	}
}

func TestResetOfContinuedRunsUnderScopeExecution(t *testing.T) {
	t.Parallel()
	b, p := setup(t), newProvider()
	c := b.client(b.plugin(dedupe.Policy{Scope: dedupe.ScopeExecution}))
	b.work(c, b.queue, func(r worker.Registry) {
		registerWorkflow(r, "thrice", thrice(continuations["NewContinueAsNewError"]))
		p.register(r)
	})
	runs := b.follow(c, b.start(c, b.queue, "thrice", 0))
	require.Len(t, p.made(), 6)
	require.Len(t, b.follow(c, b.reset(c, runs[1], 1)), 2)
	require.Len(t, p.made(), 8, "the run that was reset replays, the one that follows it is a new execution")
}

func TestReset(t *testing.T) {
	t.Parallel()

	t.Run("to before a call replays it, and the body count stays one", func(t *testing.T) {
		t.Parallel()
		b, p := setup(t), newProvider()
		c := b.client(b.plugin())
		b.work(c, b.queue, func(r worker.Registry) { r.RegisterWorkflow(chargeAll); p.register(r) })
		run := b.start(c, b.queue, chargeAll, []string{"10"})
		require.NoError(t, run.Get(t.Context(), nil))
		var answers []string
		require.NoError(t, b.reset(c, run, 1).Get(t.Context(), &answers))
		require.Equal(t, []string{"charged 10"}, answers)
		require.Equal(t, []string{"10"}, p.made())
	})

	for name, failure := range map[string]error{
		"failed for good":       temporal.NewNonRetryableApplicationError("card expired", "Expired", nil),
		"ran out of attempts":   errors.New("no connection"),
		"failed without effect": dedupe.NoEffect(temporal.NewNonRetryableApplicationError("declined", "Declined", nil)),
	} {
		for scope, policy := range scopes {
			if scope != "ScopeWorkflowID" && name != "failed for good" {
				continue // it makes no difference, and takes seconds
			}
			t.Run("runs a step again that "+name+", by itself, under "+scope, func(t *testing.T) {
				t.Parallel()
				b := setup(t)
				c := b.client(b.plugin(policy))
				var repaired atomic.Bool
				var bodies atomic.Int32
				b.work(c, b.queue, func(r worker.Registry) {
					registerWorkflow(r, "step", func(ctx workflow.Context) (string, error) { return charge(ctx, "10") })
					register(r, "Charge", func(context.Context, string) (string, error) {
						if bodies.Add(1); repaired.Load() {
							return "charged", nil
						}
						return "", failure
					})
				})
				run := b.start(c, b.queue, "step")
				require.Error(t, run.Get(t.Context(), nil))
				repaired.Store(true)
				before := bodies.Load()
				var got string
				require.NoError(t, b.reset(c, run, 1).Get(t.Context(), &got))
				require.Equal(t, "charged", got)
				require.Equal(t, before+1, bodies.Load())
			})
		}
	}

	t.Run("refuses to run a step again whose outcome nobody knows, under Refuse", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		c := b.client(b.plugin(dedupe.Policy{Takeover: dedupe.Refuse}))
		var bodies atomic.Int32
		b.work(c, b.queue, func(r worker.Registry) {
			registerWorkflow(r, "step", func(ctx workflow.Context) (string, error) { return charge(ctx, "10") })
			register(r, "Charge", func(context.Context, string) (string, error) {
				bodies.Add(1)
				return "", errors.New("connection lost after the request")
			})
		})
		run := b.start(c, b.queue, "step")
		requireErrType(t, run.Get(t.Context(), nil), dedupe.ErrTypeOutcomeUnknown)
		requireErrType(t, b.reset(c, run, 1).Get(t.Context(), nil), dedupe.ErrTypeOutcomeUnknown)
		require.EqualValues(t, 1, bodies.Load())
	})
}

func TestFreshStart(t *testing.T) {
	t.Parallel()
	b, p := setup(t), newProvider()
	c := b.client(b.plugin(dedupe.Policy{OnOtherExecution: dedupe.ReplayOther}))
	b.work(c, b.queue, func(r worker.Registry) { r.RegisterWorkflow(chargeAll); p.register(r) })
	for range 2 {
		var answers []string
		require.NoError(t, b.start(c, b.queue, chargeAll, []string{"10"}).Get(t.Context(), &answers))
		require.Equal(t, []string{"charged 10"}, answers)
	}
	require.Equal(t, []string{"10"}, p.made(), "where the workflow ID is the operation, it replays")
	app := requireErrType(t, b.start(c, b.queue, chargeAll, []string{"11"}).Get(t.Context(), nil), dedupe.ErrTypeConflict)
	require.Contains(t, app.Error(), "another run")
}
