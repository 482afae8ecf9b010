package workflows_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"

	"github.com/seed5aa7bdf6/temporal-dedupe/workflows"
)

type (
	stripe struct{ broken bool }
	mail   struct{}
)

type repository[T any] struct{}

func (repository[T]) Send(context.Context, T) error { return nil }

func (stripe) Send(context.Context, string) error { return nil }
func (*mail) Send(context.Context, string) error  { return nil }

// The SDK calls both types "Send". It tells which function is meant in a place of its
// own, which this test finds again with each release of it.
func TestLocalActivitiesOfOneName(t *testing.T) {
	t.Parallel()
	var alias = func(context.Context, string) error { return nil }
	b := setup(t)
	b.RegisterActivityWithOptions(alias, activity.RegisterOptions{Name: "Send"})
	b.requireRun(t, func(ctx workflow.Context) error {
		ctx = withTimeouts(ctx)
		named := workflows.WithBusinessKey(ctx, "order-7")
		for _, c := range []struct {
			ctx workflow.Context
			fn  any
		}{
			{ctx, stripe{}.Send},
			{ctx, (&mail{}).Send},
			{ctx, "Send"},
			{ctx, stripe{}.Send},
			{ctx, stripe{broken: true}.Send},
			{ctx, (*mail)(nil).Send},
			{ctx, repository[string]{}.Send},
			{ctx, repository[any]{}.Send},
			{named, stripe{}.Send},
			{named, (&mail{}).Send},
			{named, "Send"},
			{named, stripe{broken: true}.Send},
		} {
			if err := workflow.ExecuteLocalActivity(c.ctx, c.fn, "bob").Get(ctx, nil); err != nil {
				return err
			}
		}
		return nil
	})
	facts := b.facts("Send")
	require.Equal(t, []int{1, 1, 1, 2, 3, 2, 1, 1}, numbers(facts[:8]), "each function is counted for itself, its receivers are not")
	require.Len(t, distinct(names(facts[:8])), 8)
	const here = "github.com/seed5aa7bdf6/temporal-dedupe/workflows_test."
	for i, want := range []string{here + "stripe.Send-fm", here + "(*mail).Send-fm", "", here + "stripe.Send-fm"} {
		require.Equal(t, want, facts[8+i].Function, "compared, where all kinds of calls are one")
	}
}

func distinct(names []string) map[string]bool {
	set := map[string]bool{}
	for _, name := range names {
		set[name] = true
	}
	return set
}

func TestNewInterceptorFor(t *testing.T) {
	t.Parallel()
	charge := func(activityType string) bool { return activityType == "Charge" }
	b := setup(t, workflows.NewInterceptorFor(charge))
	b.requireRun(t, func(ctx workflow.Context) error {
		return inOrder(callLocal(ctx, "Charge", 1), callLocal(ctx, "Ship", 1), call(ctx, "Ship", 2))
	})
	require.Equal(t, []int{1}, numbers(b.facts("Charge")))
	require.Equal(t, []int{0, 1}, numbers(b.facts("Ship")), "nobody would read the header of the first, and anybody that of the second")

	t.Run("LeavesTheOthersToATwin", func(t *testing.T) {
		t.Parallel()
		b := setup(t, workflows.NewInterceptorFor(func(string) bool { return false }), workflows.NewInterceptorFor(charge))
		b.requireRun(t, func(ctx workflow.Context) error {
			return inOrder(callLocal(ctx, "Charge", 1), callLocal(ctx, "Charge", 1))
		})
		require.Equal(t, []int{1, 2}, numbers(b.facts("Charge")))
	})
}
