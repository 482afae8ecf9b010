package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

func reserveTests() []named {
	return []named{
		{"the first reservation of a key inserts a record with its token", reserveInserts},
		{"the second one finds it in progress with what is left of the lease", reserveFinds},
		{"the second one writes nothing", reserveLoserWritesNothing},
		{"a completed record is answered with its result", reserveAnswersResult},
		{"a record whose lease is over is still answered", reserveAnswersLate},
		{"a record whose retention is over is answered until it is evicted", reserveAnswersExpired},
		{"a key may have 512 bytes and any letters", reserveKeys},
		{"a reservation that is not valid is refused and names its field", reserveInvalid},
	}
}

func reserveInserts(k *kit) {
	r := k.reservation()
	found := k.reserve(r)
	require.True(k, found.Inserted)

	rec := k.get(r)
	require.Equal(k, r.Key, rec.Key)
	require.Equal(k, store.RecordVersion, rec.Version)
	require.Equal(k, store.StatusInProgress, rec.Status)
	require.Equal(k, r.Hashes[0], rec.Hash)
	require.Equal(k, r.Token, rec.Token)
	require.Equal(k, r.Policy, rec.Policy)
	require.True(k, rec.EffectPossible)
	require.False(k, rec.Held)
	require.False(k, rec.Pending)
	require.False(k, rec.NonRetryable)
	require.Zero(k, rec.Generation)
	require.Equal(k, 1, rec.Acquisitions)
	require.Nil(k, rec.Result)
	require.Zero(k, rec.ResultSize)
	require.Empty(k, rec.Tombstone)
	require.Nil(k, rec.Failure)
	k.requireLease(lease, rec)
	require.False(k, rec.CreatedAt.IsZero())
	require.WithinDuration(k, rec.CreatedAt, rec.UpdatedAt, slack)
	require.WithinDuration(k, rec.CreatedAt.Add(retention), rec.ExpiresAt, slack)
	k.requireOrigin(r.Origin, rec.Origin)
}

func (k *kit) requireOrigin(want, got store.Origin) {
	k.Helper()
	require.True(k, want.ScheduledAt.Equal(got.ScheduledAt), "%v, want %v", got.ScheduledAt, want.ScheduledAt)
	got.ScheduledAt = want.ScheduledAt
	require.Equal(k, want, got)
}

func reserveFinds(k *kit) {
	r := k.reservation()
	k.insert(r)
	k.Advance(lease / 2)
	found := k.reserve(again(r))
	require.False(k, found.Inserted)
	require.True(k, found.Exists)
	require.Equal(k, store.StatusInProgress, found.Record.Status)
	require.Equal(k, r.Token, found.Record.Token)
	k.requireLease(lease/2, found.Record)
	k.requireUnchanged(found.Record)
}

func reserveLoserWritesNothing(k *kit) {
	r := k.reservation()
	k.insert(r)
	before := k.get(r)
	k.reserve(again(r))
	k.reserve(again(r, func(r *store.Reservation) {
		r.Hashes, r.Lineage, r.Policy = []string{"v1:s1:bbbb"}, "elsewhere", store.Refuse
		r.Lease, r.Retention, r.Owner = 2*lease, 2*retention, "another"
	}))
	k.requireUnchanged(before)
}

func reserveAnswersResult(k *kit) {
	r := k.reservation()
	k.insert(r)
	k.apply(r, store.Settlement{Outcome: store.OutcomeComplete, Result: []byte("paid"), ResultSize: 4})
	found := k.reserve(again(r))
	require.True(k, found.Exists)
	require.Equal(k, store.StatusCompleted, found.Record.Status)
	require.Equal(k, []byte("paid"), found.Record.Result)
	k.requireUnchanged(found.Record)
}

func reserveAnswersLate(k *kit) {
	r := k.reservation()
	k.insert(r)
	k.Advance(lease + slack)
	found := k.reserve(again(r))
	require.False(k, found.Inserted)
	require.True(k, found.Exists)
	require.Equal(k, r.Token, found.Record.Token)
	require.False(k, found.Record.LeaseLive())
	k.requireLeaseOver(found.Record)
}

func reserveAnswersExpired(k *kit) {
	r := k.reservation()
	k.insert(r)
	k.apply(r, store.Settlement{Outcome: store.OutcomeComplete, Result: []byte("paid")})
	k.Advance(retention + slack)
	found := k.reserve(again(r))
	if k.Expires {
		require.True(k, found.Inserted, "it is gone by itself")
		return
	}
	require.False(k, found.Inserted)
	require.Equal(k, []byte("paid"), found.Record.Result)
}

func reserveKeys(k *kit) {
	long := make([]byte, store.MaxKeyBytes)
	for i := range long {
		long[i] = 'x'
	}
	for _, key := range []string{string(long), "a", "A", "a ", " a", "ä/日本", `a\b'c"d%_`, "{a,b}", "NULL"} {
		r := k.reservation(func(r *store.Reservation) { r.Key = key })
		k.insert(r)
		require.Equal(k, r.Token, k.get(r).Token, "key %q", key)
	}
}

func reserveInvalid(k *kit) {
	for field, change := range map[string]func(*store.Reservation){
		"Key":       func(r *store.Reservation) { r.Key = "" },
		"Hashes":    func(r *store.Reservation) { r.Hashes = nil },
		"Token":     func(r *store.Reservation) { r.Token = store.Token{} },
		"Lease":     func(r *store.Reservation) { r.Lease = 0 },
		"Retention": func(r *store.Reservation) { r.Retention = r.Lease },
		"Policy":    func(r *store.Reservation) { r.Policy = "" },
	} {
		good, bad := k.reservation(), k.reservation(change)
		_, err := k.Store.Reserve(k.ctx, []store.Reservation{good, bad})
		require.ErrorIs(k, err, store.ErrInvalidArgument)
		require.ErrorContains(k, err, field)
		k.requireMissing(good)
	}
}
