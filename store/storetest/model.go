package storetest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// Steps of the model's clock are whole minutes and limits end between them, so
// that the time which really passes decides nothing. Nor do two leases in a row,
// or one minute, end with a step: a store that expires records may keep them so
// much longer. One step sets the clock back.
const (
	modelLease     = 9*time.Minute + 40*time.Second
	modelRetention = 99*time.Minute + 30*time.Second
)

var modelMinutes = []int{2, 4, 7, 30, 101, -4}

// Model lets several owners do whatever they can to two keys, with answers lost
// and the clock stepped, on the store and on a reference, and requires that both
// answer and remember the same; and so operators, where both have an Admin.
// reference makes an empty store that is right, with the clock that it is given,
// as a harness that needs neither Advance nor Close; package memstore has one. The
// flag -rapid.checks says how often this is done.
func Model(t *testing.T, h Harness, reference func(now func() time.Time) Harness) {
	t.Helper()
	var rounds atomic.Int64
	rapid.Check(t, func(r *rapid.T) {
		h.Advance(modelRetention) // or a store that has just started protects owners
		newKit(t, h).evictAll()   // what cannot be evicted is in nobody's way
		m := newModel(r, h, rounds.Add(1), reference)
		steps := map[string]func(*rapid.T){
			"claim": m.claim, "claim more": m.claim, "renew": m.renew, "settle": m.settle, "settle more": m.settle,
			"evict": m.evict, "clock": m.clock, "": m.check,
		}
		if h.Admin != nil && m.admin != nil {
			steps["operate"], steps["operate more"], steps["count"] = m.operate, m.operate, m.count
		}
		r.Repeat(steps)
		m.end()
	})
}

// model drives a store and its reference with the same calls.
type model struct {
	t    *rapid.T
	h    Harness
	now  time.Time
	keys []string
	// references are those of the keys: one for all of them, or, where the store
	// expires records by itself, one for each, to be evicted from alone.
	references map[string]store.Store
	// admin is the operators' side of the one reference for all keys.
	admin store.Admin
	// seen are the records that operators have looked at.
	seen []store.Entry
	// owned are the reservations that were ever made, stale ones included.
	owned []store.Reservation
	// results are those of completed records.
	results map[store.Token][]byte
}

func newModel(t *rapid.T, h Harness, round int64, reference func(now func() time.Time) Harness) *model {
	m := &model{t: t, h: h, now: time.Now(), references: map[string]store.Store{}, results: map[store.Token][]byte{}}
	clock := func() time.Time { return m.now }
	shared := reference(clock)
	m.admin = shared.Admin
	for _, name := range []string{"a", "b"} {
		key := fmt.Sprint("model/", round, "/", name)
		m.keys = append(m.keys, key)
		m.references[key] = shared.Store
		if h.Expires {
			m.references[key] = reference(clock).Store
		}
	}
	return m
}

// reconcile evicts from the reference what the store has removed by itself, which
// must be something that Evict removes.
func (m *model) reconcile(key string) {
	if !m.h.Expires {
		return
	}
	reference := m.references[key]
	_, gone := m.h.Store.Get(context.Background(), key)
	if _, err := reference.Get(context.Background(), key); gone == nil || err != nil {
		return
	}
	require.ErrorIs(m.t, gone, store.ErrNotFound)
	_, err := reference.Evict(context.Background(), 1)
	require.NoError(m.t, err)
	_, err = reference.Get(context.Background(), key)
	require.ErrorIs(m.t, err, store.ErrNotFound, "the store has removed what must stay")
}

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

// both makes one call on both stores and requires the same answers.
func both[A, R any](m *model, key string, args A, call func(store.Store, A) (R, error)) R {
	m.reconcile(key)
	lost := rapid.Bool().Draw(m.t, "answer lost")
	m.now = m.now.Add(time.Millisecond) // the other clock never stands still
	do := func(s store.Store) (R, error) {
		if lost {
			s = twice{s}
		}
		return call(s, args)
	}
	want, wantErr := do(m.references[key])
	got, gotErr := do(m.h.Store)
	require.Equal(m.t, wantErr == nil, gotErr == nil, "%v and %v", wantErr, gotErr)
	require.Equal(m.t, want, got)
	return got
}

func (m *model) reservation() store.Reservation {
	draw := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(m.t, name) }
	return store.Reservation{
		Key: draw("key", m.keys...), Hashes: []string{draw("hash", "v1::1", "v1::2")}, Token: store.NewToken(),
		Lease: modelLease, Retention: modelRetention,
		Policy:     rapid.SampledFrom([]store.TakeoverPolicy{store.Reexecute, store.Refuse, store.Verify}).Draw(m.t, "policy"),
		Generation: rapid.SampledFrom([]int{0, 10, store.MaxGeneration}).Draw(m.t, "generation"),
		Origin:     store.Origin{Lineage: draw("lineage", "first", "second"), Invocation: draw("invocation", "", "x", "y")},
	}
}

func (m *model) claim(*rapid.T) {
	r := m.reservation()
	before, existed := m.read(m.h.Store, r.Key)
	c := both(m, r.Key, r, func(s store.Store, r store.Reservation) (store.Claimed, error) {
		c, err := store.Claim(context.Background(), s, r)
		return store.Claimed{Verdict: c.Verdict, Lease: c.Lease, Generation: c.Generation}, err
	})
	switch c.Action {
	case store.ActAcquire, store.ActVerify:
		after, _ := m.read(m.h.Store, r.Key)
		require.Equal(m.t, r.Token, after.Token, "acquired without a record")
		if existed {
			require.False(m.t, before.LeaseLive(), "two live owners")
			require.NotEqual(m.t, store.StatusCompleted, before.Status)
		}
		m.owned = append(m.owned, r)
	case store.ActUnknown:
	default:
		after, _ := m.read(m.h.Store, r.Key)
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
	both(m, r.Key, leaseOf(r), func(s store.Store, l store.Lease) ([]store.Renewal, error) {
		return s.Renew(context.Background(), []store.Lease{l})
	})
}

func (m *model) settle(t *rapid.T) {
	r := m.owner(t)
	possible := rapid.Bool().Draw(t, "effect possible")
	s := rapid.SampledFrom([]store.Settlement{
		{Outcome: store.OutcomeComplete, Result: []byte("result of " + r.Token.String())},
		{Outcome: store.OutcomeComplete},
		{Outcome: store.OutcomeComplete, Tombstone: store.TombstoneResultTooLarge, ResultSize: 7},
		{Outcome: store.OutcomeFail, Failure: []byte("failure"), EffectPossible: possible, NewGeneration: !possible},
		{Outcome: store.OutcomeFail, Failure: []byte("final"), NonRetryable: true},
		{Outcome: store.OutcomeRelease, EffectPossible: possible, NewGeneration: !possible},
		{Outcome: store.OutcomeRelease, EffectPossible: possible},
		{Outcome: store.OutcomeHold},
		{Outcome: store.OutcomeHold, OwnLease: true},
		{Outcome: store.OutcomePend, Lease: modelLease},
	}).Draw(t, "settlement")
	s.Key, s.Token = r.Key, r.Token
	before, _ := m.read(m.h.Store, r.Key)
	answer := both(m, r.Key, s, func(st store.Store, s store.Settlement) ([]store.Settled, error) {
		return st.Settle(context.Background(), []store.Settlement{s})
	})[0]
	after, _ := m.read(m.h.Store, r.Key)
	if answer != store.SettledApplied || before.Token != r.Token {
		require.Equal(m.t, before, after, "a stale owner wrote")
	}
}

func (m *model) evict(t *rapid.T) {
	// Room for both keys: which of two goes first is not promised. Some stores go by
	// when they expired, others by when they could be removed.
	limit := rapid.IntRange(len(m.keys), 3).Draw(t, "limit")
	if m.h.Expires {
		n, err := m.h.Store.Evict(context.Background(), limit)
		require.NoError(m.t, err)
		require.Zero(m.t, n)
		return
	}
	both(m, m.keys[0], limit, func(s store.Store, n int) (int, error) { return s.Evict(context.Background(), n) })
}

func (m *model) clock(t *rapid.T) {
	d := time.Duration(rapid.SampledFrom(modelMinutes).Draw(t, "minutes")) * time.Minute
	m.now = m.now.Add(d)
	m.h.Advance(d)
}

// check runs after every step.
func (m *model) check(*rapid.T) {
	for _, key := range m.keys {
		m.reconcile(key)
		want, wantOK := m.read(m.references[key], key)
		got, gotOK := m.read(m.h.Store, key)
		require.Equal(m.t, wantOK, gotOK, key)
		require.Equal(m.t, want, got, key)
		if got.Status == store.StatusCompleted {
			if result, seen := m.results[got.Token]; seen {
				require.Equal(m.t, result, got.Result, "a settled result changed")
			}
			m.results[got.Token] = got.Result
		}
	}
}

// end requires that of everything which may go in the end, nothing is left.
func (m *model) end() {
	const later = 10 * modelRetention
	m.now = m.now.Add(later)
	m.h.Advance(later)
	for _, s := range append([]store.Store{m.h.Store}, m.references[m.keys[0]], m.references[m.keys[1]]) {
		_, err := s.Evict(context.Background(), 1000)
		require.NoError(m.t, err)
	}
	m.check(m.t)
	if m.h.Admin != nil && m.admin != nil {
		m.deleteAll()
	}
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
