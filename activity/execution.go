package activity

import (
	"context"
	"errors"
	"time"

	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/owner"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/telemetry"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// execution is one attempt at a call. It is used by one goroutine.
type execution struct {
	i      *Interceptor
	info   sdkactivity.Info
	policy Policy
	call   call
	hashes []string
	plain  [1]string // where hashes stand if there are no secrets
	log    callLogger

	// generation is the record's, for the provider key. unprotected executions
	// have no record: theirs is the call's first.
	generation  int
	unprotected bool
	// effectBefore is whether an effect was possible when the record was
	// acquired. An execution that ends without an effect restores it.
	effectBefore bool
	// kept points to lease from the acquisition on, also when the keeper has
	// dropped it.
	kept  *keptLease
	lease keptLease

	// For telemetry: the span, the counts, what a settled result counts as,
	// whether the outcome is counted, the time spent on deduplication, and since
	// when some is being spent; zero if none is.
	span     telemetry.Span
	count    *telemetry.Type
	executed telemetry.Outcome
	counted  bool
	spent    time.Duration
	asked    time.Time

	// form is what the request's fingerprint is made of.
	form []byte
	// effect is set where this is an effect inside an activity. body is what the
	// body of an activity has done so far, its effects' included; looks are the
	// latest at this execution's lease.
	effect *effect
	body   body
	looks  leaseLook
	// sent are the requests of an activity, its effects' included.
	sent sentRequests
}

// executionFrom returns the execution that ctx belongs to, or nil.
func executionFrom(ctx context.Context) *execution {
	e, _ := owner.From(ctx).(*execution)
	return e
}

// root is the execution of the activity that an effect is in.
func (e *execution) root() *execution {
	for e.effect != nil {
		e = e.effect.parent
	}
	return e
}

func newExecution(ctx context.Context, i *Interceptor, info sdkactivity.Info, p Policy, c call, form []byte) *execution {
	c.origin.Owner = i.options.Identity
	e := &execution{
		i: i, info: info, policy: p, call: c, form: form, generation: c.generation,
		log:   callLogger{sdkactivity.GetLogger(ctx), c.key},
		count: i.telemetry.Type(info.Namespace, info.ActivityType.Name), executed: telemetry.Executed,
	}
	e.hashes = fingerprints(e.plain[:0], i.options.FingerprintSecrets, c.key, form)
	return e
}

// execute answers the call from its record, or runs the body.
func (e *execution) execute(ctx context.Context, next interceptor.ActivityInboundInterceptor, in *interceptor.ExecuteActivityInput) (any, error) {
	if ctx.Err() != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		// Temporal would drop whatever is answered now. After a reset an
		// activity can start in this state.
		e.record(ctx, telemetry.DeadlinePassed)
		return nil, refuseLate(e.info)
	}
	leased, claimed, err := e.claim(ctx)
	if errors.Is(err, errUnprotected) {
		e.unprotected = true
		e.log.Error("dedupe: running without a record, the store cannot be reached", "Error", err)
		e.count.Unprotected(ctx)
		e.record(ctx, telemetry.Unprotected)
		result, err := next.ExecuteActivity(owner.With(ctx, e), in)
		err, _ = withoutMark(err)
		return result, err
	}
	if errors.Is(err, ErrLeaseLost) {
		return e.superseded(ctx)
	}
	if err != nil {
		return nil, err
	}
	e.found(ctx, claimed)
	switch claimed.Action {
	case store.ActAcquire:
		return e.own(leased, claimed, next, in)
	case store.ActVerify:
		return e.verify(leased, claimed, next, in)
	case store.ActReplay:
		return e.replay(ctx, claimed)
	case store.ActReplayFailure:
		return e.replayFailure(ctx, claimed)
	case store.ActPending:
		e.record(ctx, telemetry.Pending)
		return nil, sdkactivity.ErrResultPending
	case store.ActConflict:
		return nil, e.conflict(ctx, claimed.Found)
	case store.ActOther:
		return nil, e.other(ctx, claimed.Found)
	default: // store.ActUnknown
		return e.unknown(ctx, claimed.Found, "an earlier execution ended without a result")
	}
}

// conflict refuses a call that differs from the record.
func (e *execution) conflict(ctx context.Context, found store.Record) error {
	err := conflictError(e.call, found, e.hashes)
	e.log.Error(err.Error())
	e.record(ctx, telemetry.Conflict)
	return err
}

// other refuses a call whose record belongs to another execution.
func (e *execution) other(ctx context.Context, found store.Record) error {
	err := otherExecutionError(e.call, found)
	e.log.Error(err.Error())
	e.record(ctx, telemetry.OtherExecution)
	return err
}

// own runs the body under the lease that was claimed, with a context that ends with
// it.
func (e *execution) own(ctx context.Context, claimed store.Claimed, next interceptor.ActivityInboundInterceptor, in *interceptor.ExecuteActivityInput) (any, error) {
	e.generation = claimed.Generation
	e.effectBefore = claimed.EffectPossible()
	return e.run(ctx, claimed.Lease, next, in)
}

// reservation is what the execution asks the store for, with a token of its own.
func (e *execution) reservation() store.Reservation {
	return store.Reservation{
		Key: e.call.key, Hashes: e.hashes, Token: store.NewToken(),
		Lease:     leaseFor(e.info),
		Retention: max(time.Until(e.info.Deadline), 0) + e.policy.Retention,
		Policy:    e.policy.Takeover, OnOther: e.call.onOther, Generation: e.call.generation, Origin: e.call.origin,
	}
}

// leaseFor is the length of a lease: short, since a crash must be over before
// the next attempt gives up, but long enough to be renewed three times in it.
func leaseFor(info sdkactivity.Info) time.Duration {
	lease := 30 * time.Second
	if d := info.StartToCloseTimeout / 2; d > 0 {
		lease = min(lease, d)
	}
	if d := info.HeartbeatTimeout; d > 0 {
		lease = min(lease, d)
	}
	return max(lease, 3*time.Second)
}

func refuseLate(info sdkactivity.Info) error {
	return later(ErrTypeDeadlinePassed, 0, context.DeadlineExceeded,
		"the deadline of this attempt passed %v before the body could start", time.Since(info.Deadline).Round(time.Millisecond))
}
