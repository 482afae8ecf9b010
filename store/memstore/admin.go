package memstore

import (
	"bytes"
	"container/heap"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

var _ store.Admin = (*Admin)(nil)

// Admin is a [store.Admin] in memory, beside a store: for tests of what operators
// do, and as the model of the other stores. Its trail is kept until the store is
// closed.
type Admin struct{ store *Store }

// Admin returns what operators need of the store.
func (s *Store) Admin() *Admin { return &Admin{store: s} }

// Resolve implements [store.Admin].
func (a *Admin) Resolve(ctx context.Context, order store.Order, changes []store.Change) ([]store.Resolved, error) {
	return a.change(ctx, order, changes, store.VerbRelease, store.VerbComplete, store.VerbFail)
}

// Purge implements [store.Admin].
func (a *Admin) Purge(ctx context.Context, order store.Order, changes []store.Change) ([]store.Resolved, error) {
	return a.change(ctx, order, changes, store.VerbPurge, store.VerbDelete)
}

func (a *Admin) change(ctx context.Context, order store.Order, changes []store.Change, verbs ...store.Verb) ([]store.Resolved, error) {
	if err := order.Validate(); err != nil {
		return nil, err
	}
	err := check(changes, func(c store.Change) string { return c.Key }, func(c store.Change) error {
		if !slices.Contains(verbs, c.Verb) {
			return fmt.Errorf("%w: key %q: Verb %q is none of %v", store.ErrInvalidArgument, c.Key, c.Verb, verbs)
		}
		return c.Validate()
	})
	if err != nil {
		return nil, err
	}
	s := a.store
	now, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	answers := make([]store.Resolved, len(changes))
	for i, c := range changes {
		answers[i] = s.change(order, c, now)
	}
	return answers, nil
}

func (s *Store) change(order store.Order, c store.Change, now time.Time) store.Resolved {
	r, ok := s.rows[c.Key]
	switch {
	case !ok && c.Verb == store.VerbDelete && s.deleted(order, c):
		return store.ResolvedDone
	case !ok:
		return store.ResolvedMissing
	case r.record.Token == c.Token:
		return store.ResolvedDone
	case r.record.Version > store.RecordVersion:
		return store.ResolvedNewer
	case r.entry(now).Seen() != c.Seen:
		return store.ResolvedChanged
	case r.leaseLive(now) && !c.Force:
		return store.ResolvedLive
	}
	t := store.Audit{
		ID: int64(len(s.trail)) + 1, At: wall(now), Key: c.Key, Verb: c.Named(), Actor: order.Actor, Reason: order.Reason,
		Before: r.document(),
	}
	if c.Verb == store.VerbDelete {
		if r.position >= 0 {
			heap.Remove(&s.doomed, r.position)
		}
		delete(s.rows, c.Key)
	} else {
		r.change(c, now)
		s.doomed.place(r)
		t.After = r.document()
	}
	s.trail = append(s.trail, t)
	return store.ResolvedDone
}

// change applies a change that fits.
func (r *row) change(c store.Change, now time.Time) {
	if c.Verb == store.VerbPurge {
		r.record.Result, r.record.Tombstone = nil, store.TombstonePurged
		r.record.Token, r.record.UpdatedAt = c.Token, now
		return
	}
	failure := r.record.Failure
	r.record.Result, r.record.ResultSize, r.record.Tombstone = nil, 0, ""
	switch c.Verb {
	case store.VerbComplete:
		r.record.Status, failure = store.StatusCompleted, nil
		r.record.Result, r.record.ResultSize = bytes.Clone(c.Result), int64(len(c.Result))
	case store.VerbFail:
		r.record.Status, failure = store.StatusFailed, bytes.Clone(c.Failure)
	}
	if c.FreshKey {
		r.record.Generation++
	}
	r.record.Failure, r.record.NonRetryable = failure, c.Verb == store.VerbFail
	r.record.EffectPossible, r.record.Held, r.record.Pending = false, false, false
	r.record.Token, r.record.UpdatedAt = c.Token, now
	if kept := now.Add(c.Keep); kept.After(r.record.ExpiresAt) {
		r.record.ExpiresAt = kept
	}
	r.leaseEnd, r.givenUp = now, true
}
