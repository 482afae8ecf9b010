package workflows_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/seed5aa7bdf6/temporal-dedupe/workflows"
)

// local goes on twice with each call of a local activity.
type local struct {
	interceptor.WorkerInterceptorBase
	between func(ctx workflow.Context, first workflow.Future)
}

func (l *local) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	i := &localInbound{local: l}
	i.Next = next
	return i
}

type localInbound struct {
	interceptor.WorkflowInboundInterceptorBase
	local *local
}

func (i *localInbound) Init(next interceptor.WorkflowOutboundInterceptor) error {
	o := &localOutbound{local: i.local}
	o.Next = next
	return i.Next.Init(o)
}

type localOutbound struct {
	interceptor.WorkflowOutboundInterceptorBase
	local *local
}

func (o *localOutbound) ExecuteLocalActivity(ctx workflow.Context, activityType string, args ...any) workflow.Future {
	first := o.Next.ExecuteLocalActivity(ctx, activityType, args...)
	o.local.between(ctx, first)
	second := o.Next.ExecuteLocalActivity(ctx, activityType, args...)
	_ = first.Get(ctx, nil)
	return second
}

// A local activity ends within a workflow task, and lasts over several.
func TestInterceptorThatGoesOnMoreThanOnceWithALocalActivity(t *testing.T) {
	t.Parallel()
	run := func(t *testing.T, b *bundle) []int {
		t.Helper()
		runs := 0
		b.RegisterActivityWithOptions(func(context.Context, string) error {
			if runs++; runs == 1 {
				return errors.New("not yet")
			}
			return nil
		}, activity.RegisterOptions{Name: "Flaky"})
		b.requireRun(t, func(ctx workflow.Context) error {
			ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: time.Minute,
				RetryPolicy: &temporal.RetryPolicy{InitialInterval: 10 * time.Second}})
			return workflow.ExecuteLocalActivity(ctx, "Flaky", "a").Get(ctx, nil)
		})
		return numbers(b.facts("Flaky"))
	}

	t.Run("AfterTheFirstHasEnded", func(t *testing.T) {
		t.Parallel()
		b := setup(t, workflows.NewInterceptor(), &local{between: func(ctx workflow.Context, first workflow.Future) { _ = first.Get(ctx, nil) }})
		require.Equal(t, []int{1, 1, 2}, run(t, b), "in one task: the first attempts, and then the second call")
	})

	t.Run("WhileTheFirstIsRetried", func(t *testing.T) {
		t.Parallel()
		var b *bundle
		b = setup(t, workflows.NewInterceptor(), &local{between: func(ctx workflow.Context, _ workflow.Future) {
			_ = workflow.Sleep(ctx, 2*time.Second)
			b.SetCurrentHistoryLength(10)
		}})
		require.NotContains(t, run(t, b)[2:], 2, "the first call's attempt does not become the second call's")
	})
}
