package crashtest

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

const (
	// startToClose is what it takes Temporal to notice that a worker died. It
	// makes the lease as short as leases get, 3 s.
	startToClose = 2 * time.Second
	// activityType is the activity that is deduplicated.
	activityType = "ChargePayment"
	cents        = 1999
)

// Order is what a customer owes. Its ID is also the workflow ID.
type Order struct {
	ID    string
	Cents int64
}

// PayOrder charges an order and returns the ID of the charge. Retries are
// unlimited, as in most payment workflows.
func PayOrder(ctx workflow.Context, order Order) (chargeID string, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: startToClose,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, MaximumInterval: time.Second},
	})
	err = workflow.ExecuteActivity(ctx, activityType, order).Get(ctx, &chargeID)
	return chargeID, err
}
