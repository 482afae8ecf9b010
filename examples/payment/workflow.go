package main

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// Order is what a customer owes. Its ID is also the workflow ID.
type Order struct {
	ID    string
	Cents int64
}

// Receipt tells the customer what was charged.
type Receipt struct {
	OrderID  string
	ChargeID string
	Cents    int64
}

// PayOrder pays an order: reserve the funds, charge them, write the ledger, send
// a receipt. Nothing in it knows of deduplication. Retries are unlimited, as in
// most payment workflows; start-to-close is short so that a lost answer is
// noticed within this demo.
func PayOrder(ctx workflow.Context, order Order) (Receipt, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 2 * time.Second,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond},
	})
	var a *Activities

	var holdID string
	if err := workflow.ExecuteActivity(ctx, a.ReserveFunds, order).Get(ctx, &holdID); err != nil {
		return Receipt{}, err
	}
	receipt := Receipt{OrderID: order.ID, Cents: order.Cents}
	if err := workflow.ExecuteActivity(ctx, a.ChargePayment, order, holdID).Get(ctx, &receipt.ChargeID); err != nil {
		return Receipt{}, err
	}
	if err := workflow.ExecuteActivity(ctx, a.WriteLedger, receipt).Get(ctx, nil); err != nil {
		return Receipt{}, err
	}
	if err := workflow.ExecuteActivity(ctx, a.SendReceipt, receipt).Get(ctx, nil); err != nil {
		return Receipt{}, err
	}
	return receipt, nil
}
