package pgstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/memstore"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// Steps of the clock are whole minutes and limits end on half ones, so that the
// time which really passes decides nothing.
const (
	modelLease     = 9*time.Minute + 30*time.Second
	modelRetention = 99*time.Minute + 30*time.Second
)

// model drives the memory store and Postgres with the same calls.
type model struct {
	t      *rapid.T
	memory store.Store
	pg     store.Store
	now    *time.Time
	step   func(time.Duration)
	// owned are the reservations that were ever made, stale ones included.
	owned []store.Reservation
	// seen are the records that operators have looked at.
	seen []store.Entry
	// results are those of completed records.
	results map[string][]byte
}

var modelKeys = []string{"a", "b"}

// read returns what a store knows of a key, without what the passing of time
// alone makes differ.
func (m *model) read(s store.Store, key string) (store.Record, bool) {
	r, err := s.Get(context.Background(), key)
	if err != nil {
		require.ErrorIs(m.t, err, store.ErrNotFound)
		return store.Record{}, false
	}
	if r.LeaseLive() {
		r.LeaseLeft = r.LeaseLeft.Truncate(time.Minute)
	} else {
		r.LeaseLeft = 0
	}
	r.CreatedAt, r.UpdatedAt, r.ExpiresAt = time.Time{}, time.Time{}, time.Time{}
	r.ScheduledAt = time.Time{}
	return r, true
}

// twice is a store whose first answer to each call is lost, so that the call is
// made again.
type twice struct{ store.Store }

func (s twice) Reserve(ctx context.Context, r []store.Reservation) ([]store.Found, error) {
	_, _ = s.Store.Reserve(ctx, r)
	return s.Store.Reserve(ctx, r)
}

func (s twice) Acquire(ctx context.Context, a []store.Acquisition) ([]store.Acquired, error) {
	_, _ = s.Store.Acquire(ctx, a)
	return s.Store.Acquire(ctx, a)
}

func (s twice) Renew(ctx context.Context, l []store.Lease) ([]store.Renewal, error) {
	_, _ = s.Store.Renew(ctx, l)
	return s.Store.Renew(ctx, l)
}

func (s twice) Settle(ctx context.Context, t []store.Settlement) ([]store.Settled, error) {
	_, _ = s.Store.Settle(ctx, t)
	return s.Store.Settle(ctx, t)
}

// both makes one call on both stores and requires the same answers.
func both[A, R any](m *model, args A, call func(store.Store, A) (R, error)) R {
	lost := rapid.Bool().Draw(m.t, "answer lost")
	*m.now = m.now.Add(time.Millisecond) // the other clock never stands still
	do := func(s store.Store) (R, error) {
		if lost {
			s = twice{s}
		}
		return call(s, args)
	}
	want, wantErr := do(m.memory)
	got, gotErr := do(m.pg)
	require.Equal(m.t, wantErr == nil, gotErr == nil, "%v and %v", wantErr, gotErr)
	require.Equal(m.t, want, got)
	return got
}

func (m *model) reservation() store.Reservation {
	draw := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(m.t, name) }
	return store.Reservation{
		Key: draw("key", modelKeys...), Hashes: []string{draw("hash", "v1::1", "v1::2")}, Token: store.NewToken(),
		Lease: modelLease, Retention: modelRetention,
		Policy: rapid.SampledFrom([]store.TakeoverPolicy{store.Reexecute, store.Refuse, store.Verify}).Draw(m.t, "policy"),
		Origin: store.Origin{Lineage: draw("lineage", "first", "second"), Invocation: draw("invocation", "", "x", "y")},
	}
}

func (m *model) claim(*rapid.T) {
	r := m.reservation()
	before, existed := m.read(m.pg, r.Key)
	c := both(m, r, func(s store.Store, r store.Reservation) (store.Claimed, error) {
		c, err := store.Claim(context.Background(), s, r)
		return store.Claimed{Verdict: c.Verdict, Lease: c.Lease, Generation: c.Generation}, err
	})
	switch c.Action {
	case store.ActAcquire, store.ActVerify:
		after, _ := m.read(m.pg, r.Key)
		require.Equal(m.t, r.Token, after.Token, "acquired without a record")
		if existed {
			require.False(m.t, before.LeaseLive(), "two live owners")
			require.NotEqual(m.t, store.Completed, before.Status)
		}
		m.owned = append(m.owned, r)
	case store.ActUnknown:
	default:
		after, _ := m.read(m.pg, r.Key)
		require.Equal(m.t, before, after, "the loser wrote")
	}
}

func (m *model) owner(t *rapid.T) store.Reservation {
	if len(m.owned) == 0 {
		t.Skip("nobody owns anything yet")
	}
	return rapid.SampledFrom(m.owned).Draw(t, "owner")
}

func (m *model) renew(t *rapid.T) {
	r := m.owner(t)
	both(m, leaseOf(r), func(s store.Store, l store.Lease) ([]store.Renewal, error) {
		return s.Renew(context.Background(), []store.Lease{l})
	})
}

func (m *model) settle(t *rapid.T) {
	r := m.owner(t)
	possible := rapid.Bool().Draw(t, "effect possible")
	s := rapid.SampledFrom([]store.Settlement{
		{Outcome: store.Complete, Result: []byte("result of " + r.Token.String())},
		{Outcome: store.Complete},
		{Outcome: store.Complete, Tombstone: store.ResultTooLarge, ResultSize: 7},
		{Outcome: store.Fail, Failure: []byte("failure"), EffectPossible: possible, NewGeneration: !possible},
		{Outcome: store.Fail, Failure: []byte("final"), NonRetryable: true},
		{Outcome: store.Release, EffectPossible: possible, NewGeneration: !possible},
		{Outcome: store.Release, EffectPossible: possible},
		{Outcome: store.Hold},
		{Outcome: store.Hold, OwnLease: true},
		{Outcome: store.Pend, Lease: modelLease},
	}).Draw(t, "settlement")
	before, _ := m.read(m.pg, r.Key)
	answer := both(m, settlement(r, s), func(st store.Store, s store.Settlement) ([]store.Settled, error) {
		return st.Settle(context.Background(), []store.Settlement{s})
	})[0]
	after, _ := m.read(m.pg, r.Key)
	if answer != store.Applied || before.Token != r.Token {
		require.Equal(m.t, before, after, "a stale owner wrote")
	}
}

// operate is what an operator does about a record, or about what it was before.
func (m *model) operate(t *rapid.T) {
	key := rapid.SampledFrom(modelKeys).Draw(t, "key")
	look := func(s store.Store) []store.Entry {
		entries, err := adminOf(s).Find(context.Background(), []string{key})
		require.NoError(m.t, err)
		return entries
	}
	found := look(m.pg)
	if len(found) > 0 {
		m.seen = append(m.seen, found[0])
		require.Equal(m.t, look(m.memory)[0].Seen(), found[0].Seen())
		require.Equal(m.t, look(m.memory)[0].GivenUp && found[0].Status == store.InProgress, found[0].GivenUp && found[0].Status == store.InProgress)
	}
	if len(m.seen) == 0 {
		t.Skip("nobody has seen anything yet")
	}
	e := m.seen[len(m.seen)-1]
	if rapid.Bool().Draw(t, "seen long ago") {
		e = rapid.SampledFrom(m.seen).Draw(t, "entry")
	}
	c := rapid.SampledFrom([]store.Change{
		{Verb: store.VerbRelease, Keep: modelRetention},
		{Verb: store.VerbRelease, Keep: modelLease, FreshKey: true},
		{Verb: store.VerbRelease, Keep: modelRetention, Force: true},
		{Verb: store.VerbComplete, Keep: modelRetention, Result: []byte("given")},
		{Verb: store.VerbComplete, Keep: modelRetention, Force: true},
		{Verb: store.VerbFail, Keep: modelRetention, Failure: []byte("given")},
		{Verb: store.VerbPurge},
		{Verb: store.VerbDelete},
	}).Draw(t, "change")
	if c.Verb.Fits(e.Seen()) != "" {
		t.Skip("the verb does not fit")
	}
	c.Key, c.Seen, c.Token = e.Key, e.Seen(), store.NewToken()
	before, _ := m.read(m.pg, e.Key)
	answer := both(m, c, func(s store.Store, c store.Change) ([]store.Resolved, error) {
		do := adminOf(s).Resolve
		if c.Verb == store.VerbPurge || c.Verb == store.VerbDelete {
			do = adminOf(s).Purge
		}
		return do(context.Background(), order, []store.Change{c})
	})[0]
	if answer == store.ResolvedDone {
		return
	}
	after, _ := m.read(m.pg, e.Key)
	require.Equal(m.t, before, after, "%s wrote", answer)
}

// count compares what both stores count.
func (m *model) count(*rapid.T) {
	stats := func(s store.Store) store.Counts {
		st, err := adminOf(s).Stats(context.Background(), store.StatsOptions{})
		require.NoError(m.t, err)
		require.Equal(m.t, st.Total.Held, st.Held)
		st.Total.Oldest = time.Time{}
		return st.Total
	}
	require.Equal(m.t, stats(m.memory), stats(m.pg))
	list := func(s store.Store, q store.Query) []string {
		q.Limit = 10
		entries, err := adminOf(s).List(context.Background(), q)
		require.NoError(m.t, err)
		return keysOf(entries)
	}
	for _, q := range []store.Query{{}, {Held: true}, {PastLease: true}, {Pending: true}, {EffectPossible: true}, {Status: store.Completed}, {After: "a"}} {
		require.Equal(m.t, list(m.memory, q), list(m.pg, q), "%+v", q)
	}
}

// adminOf is the operators' side of a store, whose first answers may be lost.
func adminOf(s store.Store) store.Admin {
	switch s := s.(type) {
	case *memstore.Store:
		return s.Admin()
	case *pgstore.Store:
		return s.Admin()
	case twice:
		return twiceAdmin{adminOf(s.Store)}
	}
	return nil
}

type twiceAdmin struct{ store.Admin }

func (a twiceAdmin) Resolve(ctx context.Context, o store.Order, c []store.Change) ([]store.Resolved, error) {
	_, _ = a.Admin.Resolve(ctx, o, c)
	return a.Admin.Resolve(ctx, o, c)
}

func (a twiceAdmin) Purge(ctx context.Context, o store.Order, c []store.Change) ([]store.Resolved, error) {
	_, _ = a.Admin.Purge(ctx, o, c)
	return a.Admin.Purge(ctx, o, c)
}

func (m *model) evict(t *rapid.T) {
	limit := rapid.IntRange(1, 3).Draw(t, "limit")
	both(m, limit, func(s store.Store, n int) (int, error) { return s.Evict(context.Background(), n) })
}

func (m *model) clock(t *rapid.T) {
	d := time.Duration(rapid.SampledFrom([]int{1, 4, 7, 30, 101}).Draw(t, "minutes")) * time.Minute
	*m.now = m.now.Add(d)
	m.step(d)
}

// check runs after every step.
func (m *model) check(*rapid.T) {
	for _, key := range modelKeys {
		want, wantOK := m.read(m.memory, key)
		got, gotOK := m.read(m.pg, key)
		require.Equal(m.t, wantOK, gotOK, key)
		require.Equal(m.t, want, got, key)
		if got.Status == store.Completed {
			if result, seen := m.results[got.Token.String()]; seen {
				require.Equal(m.t, result, got.Result, "a settled result changed")
			}
			m.results[got.Token.String()] = got.Result
		}
	}
}

// The memory store is the model: whatever several owners do, with answers lost
// and the clock stepped, Postgres answers and remembers the same.
func TestPostgresDoesWhatTheModelDoes(t *testing.T) {
	t.Parallel()
	b, advance := setupClock(t)
	rapid.Check(t, func(r *rapid.T) {
		execute(t, b.pool, "DELETE FROM idempotency_records")
		now := time.Now()
		memory, err := memstore.New(memstore.Options{Now: func() time.Time { return now }})
		require.NoError(r, err)
		m := &model{t: r, memory: memory, pg: b.store, now: &now, step: advance, results: map[string][]byte{}}
		r.Repeat(map[string]func(*rapid.T){
			"claim": m.claim, "claim more": m.claim, "renew": m.renew, "settle": m.settle, "settle more": m.settle,
			"operate": m.operate, "operate more": m.operate, "count": m.count, "evict": m.evict, "clock": m.clock, "": m.check,
		})
	})
}
