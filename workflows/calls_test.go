package workflows_test

import (
	"time"

	"go.temporal.io/sdk/workflow"
)

// withTimeouts lets a context make calls of every kind.
func withTimeouts(ctx workflow.Context) workflow.Context {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: time.Minute})
	return ctx
}

// call runs an activity to its end.
func call(ctx workflow.Context, activityType string, args ...any) error {
	return workflow.ExecuteActivity(withTimeouts(ctx), activityType, args...).Get(ctx, nil)
}

// callLocal runs a local activity to its end.
func callLocal(ctx workflow.Context, activityType string, args ...any) error {
	return workflow.ExecuteLocalActivity(withTimeouts(ctx), activityType, args...).Get(ctx, nil)
}

// inOrder makes several calls.
func inOrder(calls ...error) error {
	for _, err := range calls {
		if err != nil {
			return err
		}
	}
	return nil
}
