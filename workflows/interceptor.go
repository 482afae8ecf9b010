package workflows

import (
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"
)

// NewInterceptor returns the interceptor that numbers calls, for
// worker.Options.Interceptors or a replayer's options. It leaves activities
// alone and needs no store, so it is all that a worker which runs only
// workflows registers. Registering it twice is harmless.
//
// It belongs outermost: a call that an interceptor outside of it makes before
// it goes on to the workflow is numbered, but by the run alone, because the
// header of the run is not known by then.
func NewInterceptor() interceptor.WorkerInterceptor {
	return NewInterceptorFor(func(string) bool { return true })
}

// NewInterceptorFor returns an interceptor that numbers local activities of those types
// only that local names, and everything else. A local activity runs where its workflow
// does, so nobody else would read its number, which takes a digest of the arguments.
func NewInterceptorFor(local func(activityType string) bool) interceptor.WorkerInterceptor {
	return &workerInterceptor{local: local}
}

type workerInterceptor struct {
	interceptor.WorkerInterceptorBase
	local func(activityType string) bool
}

// InterceptWorkflow is called once for each instance that is loaded.
func (w *workerInterceptor) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	i := &inbound{run: newRun(), local: w.local}
	i.Next = next
	return i
}
