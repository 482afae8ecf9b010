package workflows

import (
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/wire"
)

// outbound writes the header of every call.
type outbound struct {
	interceptor.WorkflowOutboundInterceptorBase
	run   *run
	local func(activityType string) bool // which types of local activities are numbered
}

// ExecuteActivity numbers a regular activity.
func (o *outbound) ExecuteActivity(ctx workflow.Context, activityType string, args ...any) workflow.Future {
	if !wire.OfSession(activityType) && !o.run.stamped(ctx) {
		ctx = o.run.stamp(ctx, o.run.activity(ctx, activityType, args))
	}
	call := o.Next.ExecuteActivity(ctx, activityType, args...)
	o.run.made(ctx, call, false)
	return call
}

// ExecuteLocalActivity numbers a local activity. The header lasts for all its
// attempts, also those that follow a timer.
func (o *outbound) ExecuteLocalActivity(ctx workflow.Context, activityType string, args ...any) workflow.Future {
	if !o.local(activityType) {
		return o.Next.ExecuteLocalActivity(ctx, activityType, args...)
	}
	if !o.run.stamped(ctx) {
		ctx = o.run.stamp(ctx, o.run.localActivity(ctx, activityType, args))
	}
	call := o.Next.ExecuteLocalActivity(ctx, activityType, args...)
	o.run.made(ctx, call, true)
	return call
}

// ExecuteChildWorkflow tells a child without an ID of its own where it stands.
func (o *outbound) ExecuteChildWorkflow(ctx workflow.Context, childType string, args ...any) workflow.ChildWorkflowFuture {
	if !o.run.stamped(ctx) {
		ctx = o.run.stamp(ctx, o.run.child(ctx, childType, args))
	}
	call := o.Next.ExecuteChildWorkflow(ctx, childType, args...)
	o.run.made(ctx, call, false)
	return call
}
