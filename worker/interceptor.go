package worker

import (
	"context"
	"maps"
	"slices"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/workflows"
)

// Interceptor is both halves as one worker interceptor, for those who wire by
// hand. Options.DataConverter and Options.FailureConverter must then be the
// client's own; call Store.Check before the worker starts, Evict in a goroutine
// while it runs, and Drain after it has stopped.
type Interceptor struct {
	interceptor.WorkerInterceptorBase

	activities *activity.Interceptor
	evictor    *store.Evictor // nil: none is wanted
	workflows  interceptor.WorkerInterceptor
}

// NewInterceptor returns the interceptor. Its error names the option that is
// wrong.
func NewInterceptor(options activity.Options) (*Interceptor, error) {
	// It does not learn which types are registered, so all of them count.
	for _, name := range slices.Sorted(maps.Keys(options.Policies)) {
		if err := checkVerifier(name, options.Policies[name]); err != nil && options.Policies[name].Source != "" {
			return nil, err
		}
	}
	activities, err := activity.NewInterceptor(options)
	if err != nil {
		return nil, err
	}
	e, err := newEvictor(options)
	if err != nil {
		return nil, err
	}
	return &Interceptor{activities: activities, evictor: e, workflows: workflows.NewInterceptorFor(activities.DeduplicatesLocal)}, nil
}

// InterceptActivity implements interceptor.WorkerInterceptor.
func (i *Interceptor) InterceptActivity(ctx context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return i.activities.InterceptActivity(ctx, next)
}

// InterceptWorkflow implements interceptor.WorkerInterceptor.
func (i *Interceptor) InterceptWorkflow(ctx workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return i.workflows.InterceptWorkflow(ctx, next)
}

// Drain waits until the records of activities that have returned are settled,
// which Options.SettleTimeout bounds, or until ctx is done.
func (i *Interceptor) Drain(ctx context.Context) error { return i.activities.Drain(ctx) }

// Evict removes the records whose retention is over, every
// Options.EvictionInterval, until ctx is done. With a negative interval it
// returns at once.
func (i *Interceptor) Evict(ctx context.Context) {
	if i.evictor != nil {
		i.evictor.Run(ctx)
	}
}
