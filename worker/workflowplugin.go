package worker

import (
	"context"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"github.com/seed5aa7bdf6/temporal-dedupe/workflows"
)

// WorkflowPlugin adds the workflow side alone: for workers that run workflows
// and leave activities to others. It needs no store.
type WorkflowPlugin struct {
	clientBase
	workerBase
}

// NewWorkflowPlugin returns the plugin.
func NewWorkflowPlugin() *WorkflowPlugin { return &WorkflowPlugin{} }

// Name implements the plugin interfaces.
func (p *WorkflowPlugin) Name() string { return "github.com/seed5aa7bdf6/temporal-dedupe/workflows" }

// ConfigureWorker adds the interceptor. Added twice, the second is harmless.
func (p *WorkflowPlugin) ConfigureWorker(_ context.Context, o worker.PluginConfigureWorkerOptions) error {
	o.WorkerOptions.Interceptors = append([]interceptor.WorkerInterceptor{workflows.NewInterceptorFor(noLocal)}, o.WorkerOptions.Interceptors...)
	return nil
}

// noLocal: local activities run on the workflow's own worker, where nothing of this plugin
// deduplicates them.
func noLocal(string) bool { return false }

// ConfigureWorkflowReplayer adds the interceptor.
func (p *WorkflowPlugin) ConfigureWorkflowReplayer(_ context.Context, o worker.PluginConfigureWorkflowReplayerOptions) error {
	configureReplayer(o)
	return nil
}

func configureReplayer(o worker.PluginConfigureWorkflowReplayerOptions) {
	o.WorkflowReplayerOptions.Interceptors = append(
		[]interceptor.WorkerInterceptor{workflows.NewInterceptor()}, o.WorkflowReplayerOptions.Interceptors...)
}
