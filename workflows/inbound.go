package workflows

import (
	"errors"
	"maps"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/wire"
)

// inbound learns the position of the run before the workflow code starts, and
// hands it on when the run continues as new.
type inbound struct {
	interceptor.WorkflowInboundInterceptorBase
	run   *run
	local func(activityType string) bool
}

// Init puts the counting interceptor into the chain.
func (i *inbound) Init(next interceptor.WorkflowOutboundInterceptor) error {
	o := &outbound{run: i.run, local: i.local}
	o.Next = next
	return i.Next.Init(o)
}

// openedKey marks the context of a run that a twin of this interceptor has
// opened, so that what there is to say is logged once.
type openedKey struct{}

// ExecuteWorkflow writes the header of the next run on the error by which
// workflow code continues as new. That covers every way to make the error, in
// every release of the SDK.
func (i *inbound) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	logger := workflow.GetLogger(ctx)
	if ctx.Value(openedKey{}) != nil {
		logger = nil
	}
	i.run.open(workflow.GetInfo(ctx), interceptor.WorkflowHeader(ctx)[wire.HeaderKey], logger)
	result, err := i.Next.ExecuteWorkflow(workflow.WithValue(ctx, openedKey{}, true), in)
	var next *workflow.ContinueAsNewError
	if errors.As(err, &next) {
		// The fields may be shared with an error that was made before.
		fields := maps.Clone(next.Header.GetFields())
		if fields == nil {
			fields = map[string]*commonpb.Payload{}
		}
		fields[wire.HeaderKey] = wire.Encode(i.run.continuation())
		next.Header = &commonpb.Header{Fields: fields}
	}
	return result, err
}
