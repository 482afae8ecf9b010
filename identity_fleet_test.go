package dedupe_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	dedupe "github.com/seed5aa7bdf6/temporal-dedupe"
)

// Some workers of a fleet have the interceptor, others do not (yet).
func TestMixedFleet(t *testing.T) {
	t.Parallel()

	t.Run("a run that a worker without the interceptor continued stands for itself, also after a reset", func(t *testing.T) {
		t.Parallel()
		b, p := setup(t), newProvider()
		plain, protected := b.client(), b.client(b.plugin())
		stepwise := func(ctx workflow.Context, run int) error {
			ctx = workflow.WithTaskQueue(ctx, b.queue+"-activities")
			await(ctx, "charge")
			if _, err := charge(ctx, "10"); err != nil {
				return err
			}
			if await(ctx, "continue"); run == 2 {
				return nil
			}
			return workflow.NewContinueAsNewError(ctx, "stepwise", run+1)
		}
		serve := func(c client.Client) (stop func()) {
			return b.work(c, b.queue, func(r worker.Registry) { registerWorkflow(r, "stepwise", stepwise) })
		}
		b.work(protected, b.queue+"-activities", p.register)
		first := b.start(plain, b.queue, "stepwise", 0)
		signal := func(name string) {
			require.NoError(t, plain.SignalWorkflow(t.Context(), b.queue, "", name, nil))
		}

		stop := serve(protected)
		signal("charge")
		require.Eventually(t, func() bool { return len(p.made()) == 1 }, eventually, tick)
		stop()

		stop = serve(plain) // continues the first run
		signal("continue")
		second := b.successor(plain, first)
		stop()

		stop = serve(protected) // does not know how often it was continued
		signal("charge")
		require.Eventually(t, func() bool { return len(p.made()) == 2 }, eventually, tick)
		signal("continue")
		third := b.successor(plain, second)
		signal("charge")
		signal("continue")
		require.NoError(t, third.Get(t.Context(), nil))
		require.Len(t, p.made(), 3)

		b.requireCompleted("w/default/" + b.queue + "/0/Charge/1")
		b.requireCompleted("w/default/" + b.queue + "/run:" + second.GetRunID() + "/Charge/1")
		b.requireCompleted("w/default/" + b.queue + "/run:" + third.GetRunID() + "/Charge/1")

		again := b.reset(plain, third, 1)
		require.NoError(t, again.Get(t.Context(), nil)) // the reset keeps the signals
		require.Len(t, p.made(), 3)
		stop()
	})

	t.Run("without a header the attempts of one scheduling are deduplicated", func(t *testing.T) {
		t.Parallel()
		s := newScene(t, identities[0])
		s.worker()
		// The activities' worker has both halves, the workflow's has none.
		plain := s.bundle.client()
		s.work(plain, s.queue, func(r worker.Registry) {
			registerWorkflow(r, "pay", func(ctx workflow.Context) error {
				ctx = workflow.WithTaskQueue(workflow.WithActivityOptions(ctx, asyncOptions), s.queue+"-activities")
				return workflow.ExecuteActivity(ctx, "Pay").Get(ctx, nil)
			})
		})
		work := s.queue
		s.queue += "-activities"
		s.serve(s.connect(), identities[0])
		s.queue = work
		s.completed.left.Store(1)
		// The completion is lost, so the attempt ends with its time.
		_, err := s.pay()
		require.NoError(t, err)
		require.EqualValues(t, 1, s.made.Load())
	})

	t.Run("RequireHeader refuses such a call", func(t *testing.T) {
		t.Parallel()
		b, p := setup(t), newProvider()
		plain, protected := b.client(), b.client(b.plugin(dedupe.Policy{RequireHeader: true}))
		b.work(plain, b.queue, func(r worker.Registry) {
			registerWorkflow(r, "charge", func(ctx workflow.Context) error {
				_, err := charge(workflow.WithTaskQueue(ctx, b.queue+"-activities"), "10")
				return err
			})
		})
		b.work(protected, b.queue+"-activities", p.register)
		requireErrType(t, b.start(plain, b.queue, "charge").Get(t.Context(), nil), dedupe.ErrTypeHeaderRequired)
		require.Empty(t, p.made())
	})
}
