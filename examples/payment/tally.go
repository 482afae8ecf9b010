package main

import (
	"context"
	"sync"
	"sync/atomic"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
)

// tally counts what happens to each order's charge: the attempts that reach the
// worker, and those among them that were answered without running the activity.
type tally struct {
	interceptor.InterceptorBase

	mu     sync.Mutex
	counts map[string]counts // by order
}

// counts are those of one order's charge.
type counts struct{ attempts, replays int }

func newTally() *tally { return &tally{counts: map[string]counts{}} }

// Of returns the counts of an order.
func (t *tally) Of(orderID string) counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counts[orderID]
}

// InterceptActivity counts from outside: a client's interceptors wrap those of
// its plugins.
func (t *tally) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &talliedActivity{ActivityInboundInterceptorBase: interceptor.ActivityInboundInterceptorBase{Next: next}, tally: t}
}

type talliedActivity struct {
	interceptor.ActivityInboundInterceptorBase
	tally *tally
}

// ran is the context key of a flag that says that the activity itself has run.
type ran struct{}

// ExecuteActivity counts one attempt.
func (a *talliedActivity) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	info := activity.GetInfo(ctx)
	if info.ActivityType.Name != "ChargePayment" {
		return a.Next.ExecuteActivity(ctx, in)
	}
	run := new(atomic.Bool)
	result, err := a.Next.ExecuteActivity(context.WithValue(ctx, ran{}, run), in)

	a.tally.mu.Lock()
	defer a.tally.mu.Unlock()
	c := a.tally.counts[info.WorkflowExecution.ID]
	c.attempts = max(c.attempts, int(info.Attempt))
	if err == nil && !run.Load() {
		c.replays++
	}
	a.tally.counts[info.WorkflowExecution.ID] = c
	return result, err
}

// markRan notes that the activity itself runs.
func markRan(ctx context.Context) {
	if run, ok := ctx.Value(ran{}).(*atomic.Bool); ok {
		run.Store(true)
	}
}
