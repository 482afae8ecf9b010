package main

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// Transfer is an order to move money. Its ID is also the workflow ID.
type Transfer struct {
	ID       string
	From, To string
	Cents    int64
}

// Booking tells where a transfer stands in the journal.
type Booking struct{ Number int64 }

// Move makes a transfer. Nothing in it knows of deduplication; start-to-close is
// short so that a dead worker is noticed within this demo.
func Move(ctx workflow.Context, t Transfer) (b Booking, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 2 * time.Second,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, MaximumInterval: time.Second},
	})
	var l *Ledger
	err = workflow.ExecuteActivity(ctx, l.Book, t).Get(ctx, &b)
	return b, err
}
