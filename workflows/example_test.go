package workflows_test

import (
	"fmt"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/seed5aa7bdf6/temporal-dedupe/workflows"
)

// A worker that only runs workflows registers the interceptor alone.
func ExampleNewInterceptor() {
	options := worker.Options{Interceptors: []interceptor.WorkerInterceptor{workflows.NewInterceptor()}}
	fmt.Println(len(options.Interceptors))
	// Output: 1
}

// Calls that race keep their identity over a reset if they have names.
func ExampleWithStepKey() {
	transfer := func(ctx workflow.Context) error {
		deposit := workflow.ExecuteActivity(workflows.WithStepKey(ctx, "deposit"), "Move", 100)
		fee := workflow.ExecuteActivity(workflows.WithStepKey(ctx, "fee"), "Move", 1)
		if err := deposit.Get(ctx, nil); err != nil {
			return err
		}
		return fee.Get(ctx, nil)
	}
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{workflows.NewInterceptor()}})
	env.RegisterWorkflow(transfer)
}
