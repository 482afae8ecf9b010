package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// claimTries bounds how often Claim reads a record again that changed between
// its decision and its compare-and-set. Each miss means that somebody else made
// progress, so more than a few in a row are a sign of something broken.
const claimTries = 16

// Claimed is what Claim answers.
type Claimed struct {
	Verdict
	// Found is the record that was decided upon, as it stood before it was
	// acquired. Zero where the key was new.
	Found Record
	// Lease is held under ActAcquire and ActVerify.
	Lease Lease
	// Generation is the record's provider-key generation.
	Generation int
}

// EffectPossible tells whether an effect was possible before this acquisition.
// An execution that ends without one restores it: an earlier owner's possible
// effect is not undone by a later one's refusal.
func (c Claimed) EffectPossible() bool { return c.Found.EffectPossible }

// Claimer claims one call for one execution, as often as it takes: it remembers
// what it tried, so that an answer lost in one call is recognised in the next by
// the token that stands in the record. It is used by one goroutine.
type Claimer struct {
	store Store
	r     Reservation
	// seen is the record that the token last tried to acquire, and verdict what
	// was decided about it.
	seen    Record
	verdict Verdict
	// doubt: the store's last answer is missing, or an acquisition may still be
	// carried out whose answer is.
	doubt bool
}

// NewClaimer returns a claimer for a reservation, whose token nobody else uses.
func NewClaimer(s Store, r Reservation) (*Claimer, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	return &Claimer{store: s, r: r}, nil
}

// Claim is one call of a claimer that is used once.
func Claim(ctx context.Context, s Store, r Reservation) (Claimed, error) {
	c, err := NewClaimer(s, r)
	if err != nil {
		return Claimed{}, err
	}
	return c.Claim(ctx)
}

// Claim reserves the call, decides what to do about the record if there is one,
// and acquires it where the decision says so. After ActAcquire and ActVerify a
// record with the reservation's token exists; ActUnknown has left the record
// held for an operator; after every other action nothing was written. It answers
// [ErrContended] when the record changed hands too often, and
// [ErrRecordVersion] for a record of a later release. After any other error the
// record may belong to the token: claim again, or see [Claimer.Orphan].
func (c *Claimer) Claim(ctx context.Context) (Claimed, error) {
	for range claimTries {
		doubt := c.doubt
		c.doubt = true // until the store has returned: it can panic
		claimed, done, err := c.try(ctx)
		c.doubt = doubt
		if done || err != nil {
			missing := err != nil && !errors.Is(err, ErrRecordVersion) && !errors.Is(err, ErrInvalidArgument)
			c.doubt = missing || c.doubt && c.mayCome(claimed)
			return claimed, err
		}
	}
	c.doubt = true // the last miss may have been an answer to a repetition, or a lock
	return Claimed{}, fmt.Errorf("%w: key %q changed hands %d times in a row", ErrContended, c.r.Key, claimTries)
}

// mayCome tells whether an acquisition that got no answer can still be carried out
// after this answer: the record is another's, and as it was seen then.
func (c *Claimer) mayCome(claimed Claimed) bool {
	found := claimed.Found
	return claimed.Lease.Token.IsZero() && !c.seen.Token.IsZero() &&
		found.Token == c.seen.Token && found.Status == c.seen.Status && found.Held == c.seen.Held
}

// Orphan is for a claimer that gives up: the settlement that releases the record if
// it belongs to the token all the same, after an error, and whether there may be
// something to release.
func (c *Claimer) Orphan() (Settlement, bool) {
	return Settlement{Key: c.r.Key, Token: c.r.Token, Outcome: OutcomeRelease, EffectPossible: c.seen.EffectPossible}, c.doubt
}

func (c *Claimer) try(ctx context.Context) (claimed Claimed, done bool, err error) {
	asked := time.Now()
	found, err := one(c.store.Reserve(ctx, []Reservation{c.r}))
	record := found.Record
	switch {
	case err != nil:
		return Claimed{}, false, err
	case found.Inserted:
		c.seen, c.verdict = Record{}, Verdict{Action: ActAcquire}
		return c.fresh(ctx, asked, c.r.Generation)
	case !found.Exists:
		return Claimed{}, false, nil // evicted between the insert and the read
	case record.Version > RecordVersion:
		return Claimed{}, false, fmt.Errorf("%w: key %q has version %d, this release knows %d: upgrade this worker",
			ErrRecordVersion, c.r.Key, record.Version, RecordVersion)
	case record.Token == c.r.Token:
		return c.recognise(ctx, record)
	}
	verdict := Decide(record, c.r)
	switch {
	case verdict.Action == ActAcquire || verdict.Action == ActVerify:
		c.seen, c.verdict, asked = record, verdict, time.Now()
		got, err := one(c.store.Acquire(ctx, []Acquisition{{
			Reservation: c.r, SeenToken: record.Token, SeenStatus: record.Status, SeenHeld: record.Held,
		}}))
		if err != nil || !got.OK {
			return Claimed{}, false, err
		}
		return c.fresh(ctx, asked, got.Generation)
	case verdict.Action == ActUnknown && !record.Held:
		held, err := one(c.store.Settle(ctx, []Settlement{{Key: c.r.Key, Token: record.Token, Outcome: OutcomeHold}}))
		if errors.Is(err, ErrContended) { // its owner is at work on it, in a transaction
			return Claimed{Verdict: Verdict{Action: ActWait}, Found: record, Generation: record.Generation}, true, nil
		}
		if err != nil || held != SettledApplied { // its owner is back, or has settled it
			return Claimed{}, false, err
		}
	}
	return Claimed{Verdict: verdict, Found: record, Generation: record.Generation}, true, nil
}

// recognise meets a record with the claimer's own token: an earlier answer was
// lost on its way here. Meanwhile the lease may have run down.
func (c *Claimer) recognise(ctx context.Context, record Record) (Claimed, bool, error) {
	switch {
	case record.Status != StatusInProgress, record.Acquisitions > 1 && c.seen.Token.IsZero():
		return Claimed{}, false, fmt.Errorf("%w: key %q: Token was used by an earlier claim", ErrInvalidArgument, c.r.Key)
	case record.Acquisitions == 1:
		c.seen, c.verdict = Record{}, Verdict{Action: ActAcquire}
	}
	if record.LeaseLeft < c.r.Lease/2 {
		return c.renewed(ctx, record.Generation)
	}
	return c.owned(record.Generation), true, nil
}

// fresh makes sure that a lease which was asked for some time ago is not over by
// the time its answer is here: a store can take longer than a short lease lasts.
func (c *Claimer) fresh(ctx context.Context, asked time.Time, generation int) (Claimed, bool, error) {
	if time.Since(asked) > c.r.Lease/2 {
		return c.renewed(ctx, generation)
	}
	return c.owned(generation), true, nil
}

// renewed owns the record after one renewal, or looks again where it is lost.
func (c *Claimer) renewed(ctx context.Context, generation int) (Claimed, bool, error) {
	asked := time.Now()
	renewed, err := one(c.store.Renew(ctx, []Lease{c.r.lease()}))
	if err != nil || renewed != LeaseRenewed || time.Since(asked) > c.r.Lease/2 {
		return Claimed{}, false, err
	}
	return c.owned(generation), true, nil
}

func (c *Claimer) owned(generation int) Claimed {
	return Claimed{Verdict: c.verdict, Found: c.seen, Lease: c.r.lease(), Generation: generation}
}

// one takes the single answer to a single argument.
func one[T any](answers []T, err error) (T, error) {
	var zero T
	if err != nil {
		return zero, err
	}
	if len(answers) != 1 {
		return zero, fmt.Errorf("dedupe: store gave %d answers to one argument", len(answers))
	}
	return answers[0], nil
}
