package main

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/seed5aa7bdf6/temporal-dedupe"
)

// PayOrder is the workflow.
func PayOrder(ctx workflow.Context, order int) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 20 * time.Second,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 100 * time.Millisecond},
	})
	for _, name := range []string{"ReserveFunds", "ChargePayment", "WriteLedger"} {
		if err := workflow.ExecuteActivity(ctx, name, order).Get(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

// Activities are the steps. Every fifth order fails once before it had an
// effect; of every tenth, nobody knows what became of the ledger.
type Activities struct{}

var (
	errBusy = errors.New("observability: the bank is busy")
	errGone = errors.New("observability: the ledger did not answer")
)

// ReserveFunds says that it had no effect where it fails.
func (*Activities) ReserveFunds(ctx context.Context, order int) (string, error) {
	if order%5 == 0 && activity.GetInfo(ctx).Attempt == 1 {
		return "", dedupe.NoEffect(errBusy)
	}
	return "reserved", nil
}

// ChargePayment charges the order.
func (*Activities) ChargePayment(context.Context, int) (string, error) { return "charged", nil }

// WriteLedger cannot tell what happened where it fails.
func (*Activities) WriteLedger(_ context.Context, order int) (string, error) {
	if order%10 == 0 {
		return "", errGone
	}
	return "written", nil
}

// isUnknown tells an order whose outcome nobody knows.
func isUnknown(err error) bool {
	var app *temporal.ApplicationError
	return errors.As(err, &app) && app.Type() == dedupe.ErrTypeOutcomeUnknown
}

// forgetful loses the first completion of every third charge, after the money
// was taken and the call recorded.
type forgetful struct{ interceptor.InterceptorBase }

// InterceptActivity implements interceptor.WorkerInterceptor.
func (*forgetful) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	f := &forgets{}
	f.Next = next
	return f
}

type forgets struct {
	interceptor.ActivityInboundInterceptorBase
}

// ExecuteActivity implements interceptor.ActivityInboundInterceptor.
func (f *forgets) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	result, err := f.Next.ExecuteActivity(ctx, in)
	info := activity.GetInfo(ctx)
	if order, ok := in.Args[0].(int); ok && err == nil && order%3 == 0 && info.ActivityType.Name == "ChargePayment" && info.Attempt == 1 {
		return nil, errors.New("observability: the completion was lost")
	}
	return result, err
}
