package dedupe_test

import (
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	dedupe "github.com/seed5aa7bdf6/temporal-dedupe"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// registerWorkflow registers a workflow under a name.
func registerWorkflow(r worker.Registry, name string, wf any) {
	r.RegisterWorkflowWithOptions(wf, workflow.RegisterOptions{Name: name})
}

// localCall is a workflow that makes one local call.
func localCall(ctx workflow.Context) (string, error) {
	ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout: 10 * time.Second, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	var got string
	err := workflow.ExecuteLocalActivity(ctx, "Work").Get(ctx, &got)
	return got, err
}

// reset resets a run to the end of its n-th workflow task.
func (b *bundle) reset(c client.Client, run client.WorkflowRun, task int) client.WorkflowRun {
	b.t.Helper()
	at := int64(0)
	for _, e := range b.history(c, run).GetEvents() {
		if e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			if task--; task == 0 {
				at = e.GetEventId()
			}
		}
	}
	require.NotZero(b.t, at, "the run has fewer workflow tasks")
	r, err := c.ResetWorkflowExecution(b.t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace:         "default",
		WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: run.GetID(), RunId: run.GetRunID()},
		Reason:            "test", RequestId: uuid.NewString(), WorkflowTaskFinishEventId: at,
	})
	require.NoError(b.t, err)
	return c.GetWorkflow(b.t.Context(), run.GetID(), r.GetRunId())
}

// scopes are the policies that differ in scope.
var scopes = map[string]dedupe.Policy{
	"ScopeWorkflowID": {},
	"ScopeExecution":  {Scope: dedupe.ScopeExecution},
	"ScopeRun":        {Scope: dedupe.ScopeRun},
}

// charge makes one call and returns its answer.
func charge(ctx workflow.Context, amount string) (string, error) {
	var answer string
	err := workflow.ExecuteActivity(options(ctx), "Charge", amount).Get(ctx, &answer)
	return answer, err
}

// await waits for a signal.
func await(ctx workflow.Context, name string) string {
	var value string
	workflow.GetSignalChannel(ctx, name).Receive(ctx, &value)
	return value
}

// requireCompleted asserts on the record under a key.
func (b *bundle) requireCompleted(key string) store.Record {
	b.t.Helper()
	r, err := b.store.Get(b.t.Context(), key)
	require.NoError(b.t, err)
	require.Equal(b.t, store.StatusCompleted, r.Status)
	return r
}

// How long tests wait for something that comes soon, and how often they look.
const (
	eventually = 20 * time.Second
	tick       = 10 * time.Millisecond
)

// successor waits until a run was continued, and returns the next one.
func (b *bundle) successor(c client.Client, run client.WorkflowRun) client.WorkflowRun {
	b.t.Helper()
	run = c.GetWorkflow(b.t.Context(), run.GetID(), run.GetRunID())
	err := run.GetWithOptions(b.t.Context(), nil, client.WorkflowRunGetOptions{DisableFollowingRuns: true})
	require.ErrorAs(b.t, err, new(*workflow.ContinueAsNewError))
	events := b.history(c, run).GetEvents()
	return c.GetWorkflow(b.t.Context(), run.GetID(), events[len(events)-1].GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId())
}

// follow waits for the end of a chain of runs and returns them all, in order.
func (b *bundle) follow(c client.Client, first client.WorkflowRun) []client.WorkflowRun {
	b.t.Helper()
	runs := []client.WorkflowRun{first}
	for {
		last := runs[len(runs)-1]
		run := c.GetWorkflow(b.t.Context(), last.GetID(), last.GetRunID())
		err := run.GetWithOptions(b.t.Context(), nil, client.WorkflowRunGetOptions{DisableFollowingRuns: true})
		if !errors.As(err, new(*workflow.ContinueAsNewError)) {
			require.NoError(b.t, err)
			return runs
		}
		runs = append(runs, b.successor(c, last))
	}
}
