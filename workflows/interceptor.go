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
func NewInterceptor() interceptor.WorkerInterceptor { return &workerInterceptor{} }

type workerInterceptor struct {
	interceptor.WorkerInterceptorBase
}

// InterceptWorkflow is called once for each instance that is loaded.
func (w *workerInterceptor) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	i := &inbound{run: newRun()}
	i.Next = next
	return i
}
