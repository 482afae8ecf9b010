package activity

import (
	"context"
	"errors"
	"fmt"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
)

// answer is what Temporal is told of a call that was completed from outside.
type answer struct {
	result   *commonpb.Payloads
	failure  *failurepb.Failure // in place of the result
	canceled bool               // the failure is a cancellation
	tooLarge error              // why there is a failure although the call succeeded
}

// respondTimeout bounds a call to Temporal, whose own clients wait as long.
const respondTimeout = 10 * time.Second

// send tells Temporal by ID: the attempt that the handle was made in may be over
// while a later one waits for the same completion. The payloads are encoded
// already, which the client's own methods would do again.
func (c *completion) send(ctx context.Context, a answer) error {
	ctx, cancel := context.WithTimeout(ctx, respondTimeout)
	defer cancel()
	service, f := c.o.Client.WorkflowService(), c.f
	resource := "workflow:" + f.WorkflowID
	if f.WorkflowID == "" {
		resource = "activity:" + f.ActivityID
	}
	var err error
	switch {
	case a.canceled:
		_, err = service.RespondActivityTaskCanceledById(ctx, &workflowservice.RespondActivityTaskCanceledByIdRequest{
			Namespace: f.Namespace, WorkflowId: f.WorkflowID, RunId: f.RunID, ActivityId: f.ActivityID,
			Details: a.failure.GetCanceledFailureInfo().GetDetails(), Identity: c.o.Identity, ResourceId: resource,
		})
	case a.failure != nil:
		_, err = service.RespondActivityTaskFailedById(ctx, &workflowservice.RespondActivityTaskFailedByIdRequest{
			Namespace: f.Namespace, WorkflowId: f.WorkflowID, RunId: f.RunID, ActivityId: f.ActivityID,
			Failure: a.failure, Identity: c.o.Identity, ResourceId: resource,
		})
	default:
		_, err = service.RespondActivityTaskCompletedById(ctx, &workflowservice.RespondActivityTaskCompletedByIdRequest{
			Namespace: f.Namespace, WorkflowId: f.WorkflowID, RunId: f.RunID, ActivityId: f.ActivityID,
			Result: a.result, Identity: c.o.Identity, ResourceId: resource,
		})
	}
	var gone *serviceerror.NotFound
	switch {
	case errors.As(err, &gone) && f.Key != "":
		return fmt.Errorf("%w: activity %s of workflow %q, run %s: %w", ErrNotWaiting, f.ActivityID, f.WorkflowID, f.RunID, err)
	case err != nil:
		return fmt.Errorf("dedupe: activity %s of workflow %q, run %s: Temporal could not be told; try again: %w", f.ActivityID, f.WorkflowID, f.RunID, err)
	}
	return nil
}
