package activity

import (
	"context"
	"errors"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/telemetry"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// errUnprotected tells that the policy runs the body without a record.
var errUnprotected = errors.New("dedupe: store unavailable")

// claim acquires the record, or returns what it answers. It waits inside the
// attempt while another execution owns the record or the store cannot be
// reached, and comes back later where Temporal lets it. The lease of a record that
// it has acquired is being kept, and leased is the context of the body; nil
// otherwise.
func (e *execution) claim(ctx context.Context) (leased context.Context, claimed store.Claimed, err error) {
	defer e.asks()()
	claimer, err := store.NewClaimer(e.i.store, e.reservation())
	if err != nil {
		e.record(ctx, telemetry.InvalidCall)
		return nil, store.Claimed{}, refuse(ErrTypeInvalidCall, "the call cannot be recorded, and the body did not run: %v", err)
	}
	w := newWaiter(ctx, e)
	defer func() {
		w.stop(ctx)
		e.i.releaseOrphan(claimer)
	}()
	for {
		claimed, err := e.i.tryClaim(ctx, claimer)
		var retry retryLater
		switch {
		case err == nil && claimed.Action == store.ActConflict && incomparable(claimed.Found.Hash, e.hashes) != "":
			retry = retryLater{ErrTypeFingerprintUnknown, telemetry.FingerprintUnknown, e.i.options.MaxBounce, true, nil,
				fingerprintUnknown(claimed.Found, e.hashes)}
		case err == nil && owns(claimed.Action):
			// Before anything that takes time, as the last heartbeat can.
			leased := e.keepLease(ctx, claimed.Lease)
			w.stop(leased)
			if leased.Err() != nil {
				return nil, store.Claimed{}, e.neverStarted(leased, claimed)
			}
			return leased, claimed, nil
		case err == nil && !e.waits(claimed):
			return nil, claimed, nil
		case err == nil:
			retry = retryLater{ErrTypeInFlight, telemetry.InFlight, claimed.Found.LeaseLeft, false, nil, "another execution owns it"}
		case ctx.Err() != nil:
			e.record(ctx, telemetry.Canceled)
			return nil, store.Claimed{}, ctx.Err()
		case errors.Is(err, store.ErrInvalidArgument):
			e.record(ctx, telemetry.InvalidCall)
			return nil, store.Claimed{}, refuse(ErrTypeInvalidCall, "the call cannot be recorded, and the body did not run: %v", err)
		case errors.Is(err, store.ErrRecordVersion):
			retry = retryLater{ErrTypeRecordVersion, telemetry.RecordVersion, e.i.options.MaxBounce, true, nil, err.Error()}
		case errors.Is(err, errBusy), errors.Is(err, store.ErrContended):
			retry = retryLater{ErrTypeStoreBusy, telemetry.StoreBusy, time.Second, false, err, "the store is busy"}
		case e.policy.OnStoreError == RunUnprotected && !errors.Is(err, store.ErrClosed):
			w.stop(ctx)
			if ctx.Err() != nil {
				e.record(ctx, telemetry.Canceled)
				return nil, store.Claimed{}, ctx.Err()
			}
			return nil, store.Claimed{}, errors.Join(errUnprotected, err)
		default:
			e.log.Warn("dedupe: store call failed", "Error", err)
			retry = retryLater{ErrTypeStoreUnavailable, telemetry.StoreUnavailable, e.outageDelay(), false, err,
				"the store cannot be reached and the body did not run"}
		}
		if retry.atOnce {
			e.log.Warn("dedupe: this worker cannot make out the record, and the body did not run", "Reason", retry.why)
		}
		if err := w.wait(ctx, retry); err != nil {
			e.record(ctx, retry.outcome)
			return nil, store.Claimed{}, err
		}
	}
}

// waits tells a call whose outcome this execution has to wait for itself. Whoever
// completes a pending call tells Temporal of the scheduling that handed it over:
// the attempts of another one, after a reset or under the same business key,
// would hear of it from nobody but the record.
func (e *execution) waits(c store.Claimed) bool {
	return c.Action == store.ActWait || c.Action == store.ActPending && c.Found.Invocation != e.call.origin.Invocation
}

// owns tells whether the record belongs to this execution after an action.
func owns(a store.Action) bool { return a == store.ActAcquire || a == store.ActVerify }

// tryClaim asks the store once, detached from the attempt's cancellation: who
// leaves before the answer would not know whether a record is its own.
func (i *Interceptor) tryClaim(ctx context.Context, claimer *store.Claimer) (store.Claimed, error) {
	if err := i.gate.enter(ctx); err != nil {
		return store.Claimed{}, err
	}
	defer i.gate.leave()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), i.options.StoreCallTimeout)
	defer cancel()
	return claimer.Claim(ctx)
}

// releaseOrphan releases in the background what a claim without an answer may
// have left: a record whose token nobody uses any more.
func (i *Interceptor) releaseOrphan(claimer *store.Claimer) {
	s, doubt := claimer.Orphan()
	if !doubt {
		return
	}
	i.background.begin(func() {
		ctx, end := context.Background(), time.Now().Add(i.options.SettleTimeout)
		// The lost statement may still be on its way: who finds nothing looks
		// once more. What comes later still ends with its lease.
		for range 2 {
			settled, err := i.settleBehind(ctx, end, s)
			if err != nil || settled == store.SettledApplied || time.Until(end) <= orphanPause || !pause(ctx, orphanPause) {
				return
			}
		}
	})
}

// orphanPause is how long a lost statement may still be on its way.
const orphanPause = time.Second

// outageDelay is how long a call stays away from a store that cannot be
// reached: longer with each attempt.
func (e *execution) outageDelay() time.Duration {
	return min(time.Second<<min(max(e.info.Attempt-1, 0), 10), e.i.options.MaxBounce)
}

// neverStarted gives up a record that was acquired, since ctx, the context of the
// body, is done: by Temporal's word, or because another execution has the record
// already. It returns the reason.
func (e *execution) neverStarted(ctx context.Context, claimed store.Claimed) error {
	e.giveBack(ctx, claimed)
	if errors.Is(context.Cause(ctx), ErrLeaseLost) {
		return ErrLeaseLost
	}
	e.record(ctx, telemetry.Canceled)
	return ctx.Err()
}

// giveBack releases a record whose body never started.
func (e *execution) giveBack(ctx context.Context, claimed store.Claimed) {
	e.generation, e.effectBefore = claimed.Generation, claimed.EffectPossible()
	e.settle(ctx, release(claimed))
}

func release(claimed store.Claimed) store.Settlement {
	return store.Settlement{
		Key: claimed.Lease.Key, Token: claimed.Lease.Token,
		Outcome: store.OutcomeRelease, EffectPossible: claimed.EffectPossible(),
	}
}
