package activity

import (
	"context"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/telemetry"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// replay answers from the record's result. The bytes go to Temporal as they are
// stored: decoding and encoding them again could change them, or encrypt them
// twice.
func (e *execution) replay(ctx context.Context, claimed store.Claimed) (any, error) {
	outcome := telemetry.Replayed
	if claimed.Other {
		outcome = telemetry.ReplayedOther
	}
	return e.answer(ctx, claimed.Found, outcome)
}

func (e *execution) answer(ctx context.Context, found store.Record, outcome telemetry.Outcome) (any, error) {
	switch found.Tombstone {
	case "":
	case store.TombstoneResultTooLarge:
		e.record(ctx, telemetry.ResultTooLarge)
		return nil, resultTooLargeError(e.call.key, found.ResultSize, e.policy.MaxResultBytes)
	default:
		e.record(ctx, telemetry.RecordCorrupt)
		return nil, refuse(ErrTypeRecordCorrupt, "the result of %q is gone (%s); the activity succeeded and is not run again", e.call.key, found.Tombstone)
	}
	payloads, err := unmarshalPayloads(found.Result)
	if err != nil {
		return nil, e.corrupt(ctx, "result", err)
	}
	e.log.Info("dedupe: replayed the recorded result, the body did not run",
		"FirstSeen", found.CreatedAt.UTC().Format(time.RFC3339), "RecordRunID", found.RunID)
	e.record(ctx, outcome)
	if payloads == nil {
		return nil, nil
	}
	return payloads, nil
}

// replayFailure answers with the recorded failure, as the body returned it.
func (e *execution) replayFailure(ctx context.Context, claimed store.Claimed) (any, error) {
	failure, err := unmarshalFailure(claimed.Found.Failure)
	if err != nil {
		return nil, e.corrupt(ctx, "failure", err)
	}
	e.log.Info("dedupe: replayed the recorded failure, the body did not run")
	e.record(ctx, telemetry.ReplayedFailure)
	encoding := e.i.encoding.in(e.info)
	leaving, _, problem := encoding.acceptable(encoding.toError(failure), e.info.IsLocalActivity)
	if problem != nil {
		e.log.Warn("dedupe: recorded failure could not be encoded", "Error", withoutValues(problem))
	}
	return nil, leaving
}

func (e *execution) corrupt(ctx context.Context, what string, err error) error {
	e.record(ctx, telemetry.RecordCorrupt)
	return refuse(ErrTypeRecordCorrupt, "the recorded %s of %q cannot be read: %v; the body did not run", what, e.call.key, err)
}

// superseded answers an execution whose record another one has taken over, or
// settled from outside: with the recorded result if there is one, since that is
// the call's answer. While the other one is at work it waits, as any execution
// does that finds the call in flight.
func (e *execution) superseded(ctx context.Context) (any, error) {
	defer e.asks()()
	// The body's context is cancelled with the lease.
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), e.deadline())
	defer cancel()
	// No heartbeats: those of the body are newer than what could be sent again.
	w := &waiter{e: e, since: time.Now(), poll: pollFirst}
	lost := retryLater{ErrTypeLeaseLost, telemetry.Superseded, 0, false, ErrLeaseLost, ErrLeaseLost.Error()}
	for {
		read, done := context.WithTimeout(context.WithoutCancel(ctx), e.i.options.StoreCallTimeout)
		found, err := e.i.store.Get(read, e.call.key)
		done()
		var action store.Action
		if err == nil {
			action = store.Decide(found, e.reservation()).Action
			lost.delay = found.LeaseLeft
		}
		switch {
		case err == nil && found.Status == store.StatusFailed && e.kept != nil && found.Token == e.kept.Token:
			return e.replayFailure(ctx, store.Claimed{Found: found}) // from outside, before the body returned
		case action == store.ActReplay:
			e.span.LinkTo(found.TraceParent)
			return e.answer(ctx, found, telemetry.Superseded)
		case action == store.ActConflict && incomparable(found.Hash, e.hashes) == "":
			return nil, e.conflict(ctx, found)
		case action == store.ActOther:
			return nil, e.other(ctx, found)
		}
		lost.atOnce = !found.LeaseLive()
		if err := w.wait(ctx, lost); err != nil {
			e.record(ctx, telemetry.Superseded)
			return nil, err
		}
	}
}
