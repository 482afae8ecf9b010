package activity

import (
	"context"
	"errors"
	"slices"
	"time"

	failurepb "go.temporal.io/api/failure/v1"
	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/telemetry"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// pendingGrace is how much longer than its attempt a call waits for somebody
// outside to complete it.
const pendingGrace = 30 * time.Second

// finish settles a body that has returned, and answers Temporal.
func (e *execution) finish(ctx context.Context, lease store.Lease, result any, err error) (any, error) {
	if e.effect == nil {
		if leaving, recorded := e.body.end(); recorded {
			return e.leave(ctx, leaving, err)
		}
		if doubt := e.body.doubt; doubt != nil && err == nil {
			// What the body makes of a commit that may not have happened is no
			// result.
			err = doubt
		}
	}
	s, outcome := store.Settlement{Key: lease.Key, Token: lease.Token}, e.executed
	switch {
	case err == sdkactivity.ErrResultPending && !e.info.IsLocalActivity: //nolint:errorlint // Temporal compares with ==, so a wrapped one is an ordinary error
		s.Outcome, s.Lease = store.OutcomePend, max(time.Until(e.info.Deadline), 0)+pendingGrace
		outcome = telemetry.Pending
	case err == nil:
		switch result, err = e.succeed(ctx, &s, result); {
		case s.Tombstone != "":
			outcome = telemetry.ResultTooLarge
		case err != nil:
			outcome = telemetry.Failed
		case s.Outcome == store.OutcomeRelease:
			outcome = telemetry.NotFinal
		}
	default:
		// A result beside an error goes nowhere, and encoding it could fail.
		result, err = nil, e.fail(ctx, &s, err)
		outcome = telemetry.Failed
	}
	settled, known := e.settle(ctx, s)
	if known && settled == store.SettledStale && e.effect != nil {
		e.record(ctx, telemetry.Superseded)
		return nil, lostLease(e.call)
	}
	if known && settled == store.SettledStale && (ctx.Err() == nil || errors.Is(context.Cause(ctx), ErrLeaseLost)) {
		return e.superseded(ctx)
	}
	if known && settled == store.SettledMissing && e.effect == nil && err != nil && s.EffectPossible &&
		e.policy.Takeover != store.Reexecute && (ctx.Err() == nil || errors.Is(context.Cause(ctx), ErrLeaseLost)) {
		// The next attempt would find no record that keeps it from running the body.
		err := recordGoneError(e.call.key)
		return e.refuseUnknown(ctx, err, err)
	}
	e.record(ctx, outcome)
	return result, err
}

// succeed makes the settlement of a result. What it returns is what leaves: the
// encoded bytes themselves, so that a replay can be equal to them.
func (e *execution) succeed(ctx context.Context, s *store.Settlement, result any) (any, error) {
	if e.policy.IsFinal != nil && !e.policy.IsFinal(result) {
		s.Outcome, s.EffectPossible = store.OutcomeRelease, e.effectBefore
		return result, nil
	}
	payloads, err := e.i.encoding.complete(ctx, e.info, result, e.policy.MaxResultBytes, s)
	switch {
	case err != nil:
		// The effect was made, and its result is lost.
		return nil, e.fail(ctx, s, err)
	case s.Tombstone != "":
		return nil, resultTooLargeError(e.call.key, s.ResultSize, e.policy.MaxResultBytes)
	case payloads == nil:
		return nil, nil
	}
	return payloads, nil
}

// fail makes the settlement of an error, and returns the error that leaves: the
// body's own, untouched but for the mark of [NoEffect] and for what Temporal
// would refuse.
func (e *execution) fail(ctx context.Context, s *store.Settlement, err error) error {
	err, noEffect := withoutMark(err)
	if ours := ownIn(err); ours != nil {
		// The store's trouble, or a refusal of ours inside the body, is no outcome
		// of the activity's.
		s.Outcome = store.OutcomeRelease
		s.EffectPossible = !noEffect || e.effectBefore
		s.NewGeneration = !s.EffectPossible
		return ours
	}
	if err, s.Failure, s.NonRetryable = e.failure(err); noEffect {
		s.Outcome = store.OutcomeFail
		s.EffectPossible = e.effectBefore
		s.NewGeneration = !e.effectBefore
		return err
	}
	switch {
	case s.NonRetryable:
		// The author's definite word: the call has failed, without an effect
		// that matters.
		s.Outcome = store.OutcomeFail
	case interrupted(ctx):
		// Not the activity's outcome: the next attempt starts over. The lease
		// ends only now that the body has returned.
		s.Outcome, s.EffectPossible, s.Failure = store.OutcomeRelease, true, nil
	default:
		s.Outcome, s.EffectPossible = store.OutcomeFail, true
	}
	return err
}

// failure encodes an error, and tells whether Temporal will not retry it: by
// its flag, or by its type in the retry policy. An error that cannot be encoded
// is not final: there would be nothing to replay, and Temporal, which hears
// nothing of it either, tries again.
func (e *execution) failure(err error) (leaving error, encoded []byte, final bool) { //nolint:revive,staticcheck // the error is what it works on, not how it fails
	leaving, f, problem := e.i.encoding.in(e.info).acceptable(err, e.info.IsLocalActivity)
	if problem == nil {
		encoded, problem = marshalFailure(f)
	}
	if problem != nil {
		e.log.Warn("dedupe: failure could not be encoded for the record", "Error", withoutValues(problem))
		return leaving, nil, false
	}
	final = nonRetryable(f, e.info.RetryPolicy)
	if e.info.IsLocalActivity {
		// Local activities honour flag and type wherever they stand in the chain.
		var app *temporal.ApplicationError
		final = final || errors.As(leaving, &app) && (app.NonRetryable() || listed(app.Type(), e.info.RetryPolicy))
	}
	return leaving, encoded, final
}

func nonRetryable(f *failurepb.Failure, p *temporal.RetryPolicy) bool {
	info := f.GetApplicationFailureInfo()
	return info != nil && (info.GetNonRetryable() || listed(info.GetType(), p))
}

func listed(errType string, p *temporal.RetryPolicy) bool {
	return p != nil && slices.Contains(p.NonRetryableErrorTypes, errType)
}

// interrupted tells a body whose context was cancelled, by whatever: the
// workflow, a shutdown, a pause, a reset, a lost lease. A deadline is not among
// them, since what ends by its own time limit is an outcome.
func interrupted(ctx context.Context) bool {
	return ctx.Err() != nil && !errors.Is(context.Cause(ctx), context.DeadlineExceeded)
}
