package memstore

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// entry reads the row as an operator sees it.
func (r *row) entry(now time.Time) store.Entry {
	e := store.Entry{
		Record: r.read(now), LeaseLength: r.leaseFor, GivenUp: r.givenUp,
		HasResult: r.record.Result != nil, FailureSize: int64(len(r.record.Failure)),
	}
	e.Result, e.Failure = nil, nil
	if r.record.Held {
		e.HeldSince = wall(r.heldSince)
	}
	return e
}

// List implements [store.Admin].
func (a *Admin) List(ctx context.Context, q store.Query) ([]store.Entry, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	entries, err := a.entries(ctx, func(e store.Entry) bool { return selects(q, e) })
	if q.Held {
		slices.SortStableFunc(entries, func(x, y store.Entry) int { return x.HeldSince.Compare(y.HeldSince) })
	}
	return entries[:min(len(entries), q.Limit)], err
}

// Find implements [store.Admin].
func (a *Admin) Find(ctx context.Context, keys []string) ([]store.Entry, error) {
	return a.entries(ctx, func(e store.Entry) bool { return slices.Contains(keys, e.Key) })
}

func selects(q store.Query, e store.Entry) bool {
	within := func(r store.KeyRange) bool { return r.From <= e.Key && e.Key < r.Before }
	same := func(asked, is string) bool { return asked == "" || asked == is }
	return (len(q.Ranges) == 0 || slices.ContainsFunc(q.Ranges, within)) &&
		(!q.Held || e.Held) && (!q.Pending || e.Pending) &&
		(!q.EffectPossible || e.EffectPossible && !e.LeaseLive()) &&
		(!q.PastLease || e.Status == store.StatusInProgress && !e.LeaseLive()) &&
		same(string(q.Status), string(e.Status)) && same(q.Namespace, e.Namespace) && same(q.WorkflowID, e.WorkflowID) &&
		same(q.RunID, e.RunID) && same(q.ActivityType, e.ActivityType) && e.Key > q.After
}

// entries answers the rows that are meant, in the order of their keys.
func (a *Admin) entries(ctx context.Context, means func(store.Entry) bool) ([]store.Entry, error) {
	now, err := a.store.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer a.store.mu.Unlock()
	var entries []store.Entry
	for _, r := range a.store.rows {
		if e := r.entry(now); means(e) {
			entries = append(entries, e)
		}
	}
	slices.SortFunc(entries, func(x, y store.Entry) int { return cmp.Compare(x.Key, y.Key) })
	return entries, nil
}

// Stats implements [store.Admin]. It counts everything: there are no pages.
func (a *Admin) Stats(ctx context.Context, _ store.StatsOptions) (store.Stats, error) {
	now, err := a.store.lock(ctx)
	if err != nil {
		return store.Stats{}, err
	}
	defer a.store.mu.Unlock()
	st := store.Stats{At: wall(now)}
	types := map[string]*store.Counts{}
	for _, r := range a.store.rows {
		c := types[r.record.ActivityType]
		if c == nil {
			c = &store.Counts{}
			types[r.record.ActivityType] = c
		}
		e := r.entry(now)
		for _, counts := range []*store.Counts{c, &st.Total} {
			count(counts, e, r.removable() && !r.removableFrom().After(now))
		}
		if e.Held {
			st.Held++
			st.OldestHeld = earlier(st.OldestHeld, e.HeldSince)
		}
		st.OldestExpiry = earlier(st.OldestExpiry, e.ExpiresAt)
	}
	for name, c := range types {
		st.Types = append(st.Types, store.TypeCounts{ActivityType: name, Counts: *c})
	}
	slices.SortFunc(st.Types, func(x, y store.TypeCounts) int { return strings.Compare(x.ActivityType, y.ActivityType) })
	return st, nil
}

func count(c *store.Counts, e store.Entry, expired bool) {
	for n, is := range map[*int64]bool{
		&c.Records: true, &c.InProgress: e.Status == store.StatusInProgress, &c.Completed: e.Status == store.StatusCompleted,
		&c.Failed: e.Status == store.StatusFailed, &c.Live: e.LeaseLive(),
		&c.PastLease: e.Status == store.StatusInProgress && !e.LeaseLive(), &c.Pending: e.Pending, &c.Held: e.Held,
		&c.EffectPossible: e.EffectPossible && !e.LeaseLive(), &c.Tombstones: e.Tombstone != "", &c.Expired: expired,
	} {
		if is {
			*n++
		}
	}
	c.Oldest = earlier(c.Oldest, e.CreatedAt)
}

// earlier is the earlier of two times, of which a zero one is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}
