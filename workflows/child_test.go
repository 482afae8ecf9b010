package workflows_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/wire"
	"github.com/seed5aa7bdf6/temporal-dedupe/workflows"
)

// child runs a child workflow to its end; an empty ID leaves it to the SDK.
func child(ctx workflow.Context, id, name string, args ...any) error {
	ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{WorkflowID: id})
	return workflow.ExecuteChildWorkflow(ctx, name, args...).Get(ctx, nil)
}

// withChildren registers a child that charges its argument, and one that starts
// such a child.
func withChildren(b *bundle) *bundle {
	b.RegisterWorkflowWithOptions(func(ctx workflow.Context, arg any) error {
		return inOrder(call(ctx, "Charge", arg), call(ctx, "Charge", arg))
	}, workflow.RegisterOptions{Name: "Pay"})
	b.RegisterWorkflowWithOptions(func(ctx workflow.Context, arg any) error {
		return child(ctx, "", "Pay", arg)
	}, workflow.RegisterOptions{Name: "Nest"})
	return b
}

// started is an argument with something in it that changes when the parent is reset.
type started struct {
	Customer string
	At       int `dedupe:"-"`
}

func TestChild(t *testing.T) {
	t.Parallel()

	t.Run("WithoutAnIDStandsInItsParentsScope", func(t *testing.T) {
		t.Parallel()
		b := withChildren(setup(t))
		b.requireRun(t, func(ctx workflow.Context) error {
			return inOrder(child(ctx, "", "Pay", "a"), child(ctx, "", "Pay", "b"))
		})
		f := b.facts("Charge")
		require.Equal(t, []int{1, 2, 1, 2}, numbers(f))
		require.Equal(t, []string{orderID, "0", "Pay", "1"}, f[0].Scope)
		require.Equal(t, f[0].Scope, f[1].Scope)
		require.Equal(t, []string{orderID, "0", "Pay", "2"}, f[2].Scope)
		require.Equal(t, runID+"/Pay/1", f[0].Lineage)
		require.Equal(t, runID+"/Pay/1", f[0].Execution)
		require.Equal(t, chain(0), f[0].Chain)
		require.NotEqual(t, orderID, f[0].WorkflowID)
		require.Empty(t, b.logs.all())
	})

	t.Run("HandsOnWhatItWasStartedWith", func(t *testing.T) {
		t.Parallel()
		b := withChildren(setup(t))
		b.requireRun(t, func(ctx workflow.Context) error {
			return inOrder(
				child(ctx, "", "Pay", "a"), child(ctx, "", "Pay", "b"), child(ctx, "", "Pay", "a"),
				child(ctx, "", "Nest", "a"), child(ctx, "", "Nest", "b"), child(ctx, "nest-1", "Nest", "a"),
				child(ctx, "", "Pay", struct{ hidden int }{1}),
				child(workflows.WithNumberByArguments(ctx), "", "Pay", "a"),
				child(ctx, "", "Pay", started{"a", 1}), child(ctx, "", "Pay", started{"a", 2}),
			)
		})
		var inputs []string
		for i, f := range b.facts("Charge") {
			if i%2 == 0 {
				inputs = append(inputs, f.Input)
			}
		}
		a, other := inputs[0], inputs[1]
		require.Len(t, a, 64)
		require.NotEqual(t, a, other)
		require.Equal(t, a, inputs[2])
		require.NotContains(t, []string{a, other, "", inputs[4]}, inputs[3], "a child's within that of its parent")
		require.Equal(t, a, inputs[5], "the parent has an ID of its own")
		require.Empty(t, inputs[6], "nobody can tell")
		require.Empty(t, inputs[7], "it stands in the scope")
		require.NotEmpty(t, inputs[8])
		require.Equal(t, inputs[8], inputs[9], "what is tagged may differ")
	})

	t.Run("WithAnIDGetsNoHeaderThatAnInterceptorCopied", func(t *testing.T) {
		t.Parallel()
		var copied *commonpb.Payload
		between := &meddler{before: func(ctx workflow.Context, childType string) {
			header := interceptor.WorkflowHeader(ctx)
			if childType != "Pay" {
				copied = header[wire.HeaderKey]
			} else if copied != nil {
				header[wire.HeaderKey] = copied
			}
		}}
		b := withChildren(setup(t, workflows.NewInterceptor(), between, workflows.NewInterceptor()))
		b.requireRun(t, func(ctx workflow.Context) error {
			return inOrder(call(ctx, "Charge", "first"), child(ctx, "pay-1", "Pay", "a"))
		})
		require.NotNil(t, copied)
		require.Empty(t, b.facts("Charge")[1].Scope)
		require.Empty(t, b.logs.all(), "a header that has to be ignored")
	})

	t.Run("WithAnIDStandsForItselfButIsCounted", func(t *testing.T) {
		t.Parallel()
		b := withChildren(setup(t))
		b.requireRun(t, func(ctx workflow.Context) error {
			return inOrder(child(ctx, "pay-1", "Pay", "a"), child(ctx, "", "Pay", "b"))
		})
		f := b.facts("Charge")
		require.Empty(t, f[0].Scope)
		require.Equal(t, "pay-1", f[0].WorkflowID)
		require.Equal(t, []string{orderID, "0", "Pay", "2"}, f[2].Scope)
		require.Empty(t, b.logs.all())
	})

	t.Run("OfAChildStandsInBothScopes", func(t *testing.T) {
		t.Parallel()
		b := withChildren(setup(t, workflows.NewInterceptor(), workflows.NewInterceptor()))
		b.requireRun(t, func(ctx workflow.Context) error { return child(ctx, "", "Nest", "a") })
		f := b.facts("Charge")[0]
		require.Equal(t, []string{orderID, "0", "Nest", "1", "0", "Pay", "1"}, f.Scope)
		require.Equal(t, runID+"/Nest/1/Pay/1", f.Lineage)
	})

	t.Run("OfAChildWithAnIDStandsInThatOnesScope", func(t *testing.T) {
		t.Parallel()
		b := withChildren(setup(t))
		b.requireRun(t, func(ctx workflow.Context) error { return child(ctx, "nest-1", "Nest", "a") })
		require.Equal(t, []string{"nest-1", "0", "Pay", "1"}, b.facts("Charge")[0].Scope)
	})

	t.Run("IsNamedByStepOrArgumentsLikeAnActivity", func(t *testing.T) {
		t.Parallel()
		b := withChildren(setup(t))
		b.requireRun(t, func(ctx workflow.Context) error {
			return inOrder(
				child(workflows.WithStepKey(ctx, "deposit"), "", "Pay", "a"),
				child(workflows.WithNumberByArguments(ctx), "", "Pay", "b"),
				child(workflows.WithoutDedupe(workflows.WithBusinessKey(ctx, "invoice-7")), "", "Pay", "c"),
			)
		})
		f := b.facts("Charge")
		require.Equal(t, []string{orderID, "0", "Pay", "step:1:deposit"}, f[0].Scope)
		require.Regexp(t, `^args:1:[0-9a-f]{64}$`, f[2].Scope[3])
		require.Equal(t, []string{orderID, "0", "Pay", "3"}, f[4].Scope)
		require.False(t, f[4].Exempt)
		require.Empty(t, f[4].BusinessKey)
	})

	t.Run("StandsForItselfWhereItCannotBeCounted", func(t *testing.T) {
		t.Parallel()
		b := withChildren(setup(t))
		b.requireRun(t, func(ctx workflow.Context) error {
			return child(workflows.WithNumberByArguments(ctx), "", "Pay", struct{ A, b int }{1, 2})
		})
		require.Empty(t, b.facts("Charge")[0].Scope)
		require.Len(t, b.logs.all(), 1)
	})

	t.Run("InAnotherNamespaceStandsForItself", func(t *testing.T) {
		t.Parallel()
		b := withChildren(setup(t))
		b.requireRun(t, func(ctx workflow.Context) error {
			ctx = workflow.WithWorkflowNamespace(ctx, "elsewhere") //nolint:staticcheck // deprecated, but servers that allow it follow it
			return workflow.ExecuteChildWorkflow(ctx, "Pay", "a").Get(ctx, nil)
		})
		require.Empty(t, b.facts("Charge")[0].Scope)
	})
}
