package workflows_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"
)

// Queries and update validators may run at any time and in any number, so a
// count that they advanced would not be rebuilt by a replay.
func TestReadOnlyCodeCannotCount(t *testing.T) {
	t.Parallel()

	t.Run("InAQuery", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.RegisterDelayedCallback(func() {
			for range 3 {
				_, err := b.QueryWorkflow("charge")
				require.Error(t, err)
			}
		}, 60e9)
		b.requireRun(t, func(ctx workflow.Context) error {
			if err := workflow.SetQueryHandler(ctx, "charge", func() (string, error) { return "", call(ctx, "Charge", 0) }); err != nil {
				return err
			}
			return inOrder(call(ctx, "Charge", 1), workflow.Sleep(ctx, 120e9), call(ctx, "Charge", 2))
		})
		require.Equal(t, []int{1, 2}, numbers(b.facts("Charge")))
	})

	t.Run("InAnUpdateValidator", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.RegisterDelayedCallback(func() { b.UpdateWorkflow("charge", "", &updates{}) }, 60e9)
		b.run(func(ctx workflow.Context) error {
			err := workflow.SetUpdateHandlerWithOptions(ctx, "charge",
				func(ctx workflow.Context) error { return call(ctx, "Ship", 1) },
				workflow.UpdateHandlerOptions{Validator: func(ctx workflow.Context) error { return call(ctx, "Charge", 0) }})
			return inOrder(err, call(ctx, "Charge", 1), workflow.Sleep(ctx, 120e9), call(ctx, "Charge", 2))
		})
		// The SDK fails the workflow task, so the instance and its counters go.
		require.ErrorContains(t, b.GetWorkflowError(), "illegal access")
		require.Equal(t, []int{1}, numbers(b.facts("Charge")))
		require.Empty(t, b.facts("Ship"))
	})

	t.Run("ButAnUpdateCan", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		updates := &updates{}
		b.RegisterDelayedCallback(func() { b.UpdateWorkflow("charge", "", updates) }, 60e9)
		b.requireRun(t, func(ctx workflow.Context) error {
			err := workflow.SetUpdateHandler(ctx, "charge", func(ctx workflow.Context) error { return call(ctx, "Charge", 2) })
			return inOrder(err, call(ctx, "Charge", 1), workflow.Sleep(ctx, 120e9), call(ctx, "Charge", 3))
		})
		require.False(t, updates.rejected)
		require.Equal(t, []int{1, 2, 3}, numbers(b.facts("Charge")))
	})
}

// updates hears what becomes of an update.
type updates struct{ rejected bool }

func (u *updates) Accept()             {}
func (u *updates) Reject(error)        { u.rejected = true }
func (u *updates) Complete(any, error) {}
