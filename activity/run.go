package activity

import (
	"context"
	"fmt"
	"time"

	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/owner"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/telemetry"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// run executes the body, whose lease is being kept, and settles what became of
// it.
func (e *execution) run(ctx context.Context, lease store.Lease, next interceptor.ActivityInboundInterceptor, in *interceptor.ExecuteActivityInput) (any, error) {
	return e.conclude(ctx, lease, func() (any, error) {
		return next.ExecuteActivity(owner.With(ctx, e), in)
	})
}

// conclude settles what a body has returned, or that it has not. Encoding what
// it returned is part of that: the user's converters can panic as well, and the
// lease must not be kept for an execution that has ended.
func (e *execution) conclude(ctx context.Context, lease store.Lease, body func() (any, error)) (result any, err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		// A panic, which goes on to Temporal as it came, or runtime.Goexit,
		// which nothing can stop: nobody knows what the body has done.
		value := recover()
		e.settleAbandoned(ctx, lease, value)
		if value != nil {
			panic(value)
		}
	}()
	result, err = body()
	result, err = e.finish(ctx, lease, result, err)
	returned = true
	return result, err
}

// keepLease hands the lease to the keeper and returns the body's context, which
// is cancelled with ErrLeaseLost as its cause when another execution has it, and
// with the execution.
func (e *execution) keepLease(ctx context.Context, lease store.Lease) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	e.lease = keptLease{
		Lease:  lease,
		until:  e.deadline().Add(overrun(e.policy, e.info)),
		cancel: cancel,
		lost: func() {
			e.log.Error("dedupe: lease lost, another execution has taken this call over, or its record is gone")
			e.span.Event(telemetry.EventLeaseLost)
			e.count.LeaseLost(ctx)
		},
	}
	e.kept = &e.lease
	e.i.keeper.keep(e.kept)
	return ctx
}

// deadline is the attempt's, or an hour from now where it has none.
func (e *execution) deadline() time.Time {
	if e.info.Deadline.IsZero() {
		return time.Now().Add(time.Hour)
	}
	return e.info.Deadline
}

// overrun is how long the lease is kept past the attempt's deadline.
func overrun(p Policy, info sdkactivity.Info) time.Duration {
	if p.MaxOverrun > 0 {
		return p.MaxOverrun
	}
	return min(max(2*info.StartToCloseTimeout, time.Minute), time.Hour)
}

// settleAbandoned records that the body never returned.
func (e *execution) settleAbandoned(ctx context.Context, lease store.Lease, value any) {
	if e.effect == nil {
		if _, recorded := e.body.end(); recorded {
			e.drop()
			return
		}
	}
	s := store.Settlement{Key: lease.Key, Token: lease.Token, Outcome: store.OutcomeRelease, EffectPossible: true}
	if value != nil {
		if failure, err := e.i.encoding.in(e.info).failure(temporal.NewApplicationError(fmt.Sprintf("panic: %v", value), "PanicError")); err == nil {
			s.Outcome, s.Failure = store.OutcomeFail, failure
		}
	}
	e.settle(ctx, s)
	e.record(ctx, telemetry.Panicked)
}
