package memstore

import (
	"bytes"
	"context"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// Settle implements [store.Store].
func (s *Store) Settle(ctx context.Context, settlements []store.Settlement) ([]store.Settled, error) {
	if err := check(settlements, func(t store.Settlement) string { return t.Key }, store.Settlement.Validate); err != nil {
		return nil, err
	}
	now, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()

	answers := make([]store.Settled, len(settlements))
	for i, t := range settlements {
		r, ok := s.rows[t.Key]
		switch {
		case !ok:
			answers[i] = store.SettledMissing
		case r.record.Token != t.Token:
			answers[i] = store.SettledStale
		default:
			answers[i] = r.settle(t, now)
			s.doomed.place(r)
		}
	}
	return answers, nil
}

// settle applies a settlement by the row's own token. A failure or a release
// that comes again is written again, with the same effect.
func (r *row) settle(t store.Settlement, now time.Time) store.Settled {
	switch t.Outcome {
	case store.OutcomeComplete:
		return r.complete(t, now)
	case store.OutcomeHold:
		return r.hold(t, now)
	case store.OutcomeFail:
		switch r.record.Status {
		case store.StatusCompleted:
			return store.SettledStale
		case store.StatusFailed:
			return r.settledAs(r.record.NonRetryable == t.NonRetryable && r.record.EffectPossible == t.EffectPossible &&
				bytes.Equal(r.record.Failure, t.Failure))
		}
		r.record.Status = store.StatusFailed
		r.record.Failure, r.record.NonRetryable = bytes.Clone(t.Failure), t.NonRetryable
		r.giveUp(t, now)
		return store.SettledApplied
	case store.OutcomeRelease:
		if r.record.Status != store.StatusInProgress {
			return store.SettledStale
		}
		r.giveUp(t, now)
		return store.SettledApplied
	default:
		return r.pend(t, now)
	}
}

// settledAs answers a settlement that comes after one by the same token: the
// first one stays, and only a repetition of it was applied.
func (r *row) settledAs(same bool) store.Settled {
	if same {
		return store.SettledApplied
	}
	return store.SettledStale
}

func (r *row) pend(t store.Settlement, now time.Time) store.Settled {
	switch {
	case r.record.Status != store.StatusInProgress:
		return store.SettledStale
	case r.record.Pending && r.leaseLive(now) && r.pendingFor == t.Lease:
		return store.SettledApplied // repeated: the wait has begun already
	}
	r.record.Pending, r.record.UpdatedAt = true, now
	r.leaseEnd, r.leaseFor, r.givenUp, r.pendingFor = now.Add(t.Lease), t.Lease, false, t.Lease
	return store.SettledApplied
}

func (r *row) complete(t store.Settlement, now time.Time) store.Settled {
	switch r.record.Status {
	case store.StatusCompleted:
		return r.settledAs(bytes.Equal(r.record.Result, t.Result) && (r.record.Result == nil) == (t.Result == nil) &&
			r.record.Tombstone == t.Tombstone)
	case store.StatusFailed:
		return store.SettledStale
	}
	r.record.Status = store.StatusCompleted
	r.record.Result, r.record.ResultSize, r.record.Tombstone = bytes.Clone(t.Result), t.ResultSize, t.Tombstone
	r.record.EffectPossible, r.record.Held, r.record.Pending = false, false, false
	r.leaseEnd, r.record.UpdatedAt = now, now
	return store.SettledApplied
}

// giveUp ends an execution without a result. An acquisition makes an effect
// possible and a new generation needs that none is, so that the generation
// moves once, however often the settlement comes.
func (r *row) giveUp(t store.Settlement, now time.Time) {
	if t.NewGeneration && r.record.EffectPossible {
		r.record.Generation++
	}
	r.record.EffectPossible = t.EffectPossible
	r.record.Held = r.record.Held && t.EffectPossible
	r.record.Pending = false
	r.leaseEnd, r.givenUp, r.record.UpdatedAt = now, true, now
}

func (r *row) hold(t store.Settlement, now time.Time) store.Settled {
	live := r.leaseLive(now)
	switch {
	case !r.record.EffectPossible: // completed, or free to run
		return store.SettledStale
	case r.record.Held && !(live && t.OwnLease):
		return store.SettledApplied
	case live && !t.OwnLease:
		return store.SettledStale
	}
	if !r.record.Held {
		r.heldSince = now
	}
	r.record.Held, r.record.UpdatedAt = true, now
	if live {
		r.leaseEnd, r.givenUp = now, true
	}
	return store.SettledApplied
}
