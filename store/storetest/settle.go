package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

func completeTests() []named {
	return []named{
		{"a completed record has its result and no more doubts", completeRecords},
		{"a tombstone takes the place of a result", completeTombstone},
		{"a late owner completes while nobody else owns the record", completeLate},
		{"a result ends a hold", completeHeld},
		{"a completed record is not settled otherwise", completeIsFinal},
		{"a completion that says something else than the first is refused", completeOtherwise},
		{"a settlement that is not valid is refused", settleInvalid},
	}
}

func completeRecords(k *kit) {
	r := k.reservation()
	k.insert(r)
	before := k.get(r)
	k.Advance(lease / 2)
	k.apply(r, store.Settlement{Outcome: store.Complete, Result: []byte("paid"), ResultSize: 4})
	rec := k.get(r)
	require.Equal(k, store.Completed, rec.Status)
	require.Equal(k, []byte("paid"), rec.Result)
	require.EqualValues(k, 4, rec.ResultSize)
	require.Empty(k, rec.Tombstone)
	require.False(k, rec.EffectPossible)
	k.requireLeaseOver(rec)
	require.WithinDuration(k, before.UpdatedAt.Add(lease/2), rec.UpdatedAt, slack)
	k.requireIdentity(before, rec)
}

// requireIdentity requires what no settlement changes.
func (k *kit) requireIdentity(before, after store.Record) {
	k.Helper()
	k.requireOrigin(before.Origin, after.Origin)
	require.Equal(k,
		[]any{before.Key, before.Version, before.Hash, before.Token, before.Policy, before.Acquisitions, before.CreatedAt.UTC(), before.ExpiresAt.UTC()},
		[]any{after.Key, after.Version, after.Hash, after.Token, after.Policy, after.Acquisitions, after.CreatedAt.UTC(), after.ExpiresAt.UTC()})
}

func completeTombstone(k *kit) {
	for _, tombstone := range []store.Tombstone{store.ResultTooLarge, store.Purged} {
		r := k.reservation()
		k.insert(r)
		k.apply(r, store.Settlement{Outcome: store.Complete, Tombstone: tombstone, ResultSize: 3 << 32})
		rec := k.get(r)
		require.Equal(k, store.Completed, rec.Status)
		require.Nil(k, rec.Result)
		require.Equal(k, tombstone, rec.Tombstone)
		require.EqualValues(k, 3<<32, rec.ResultSize)
	}
}

func completeLate(k *kit) {
	r := k.reservation()
	k.insert(r)
	k.Advance(retention / 2)
	k.apply(r, store.Settlement{Outcome: store.Complete, Result: []byte("paid")})
	require.Equal(k, store.Completed, k.get(r).Status)
}

func completeHeld(k *kit) {
	r := k.reservation(policy(store.Refuse))
	k.insert(r)
	k.Advance(lease + slack)
	k.apply(r, store.Settlement{Outcome: store.Hold})
	k.apply(r, store.Settlement{Outcome: store.Complete, Result: []byte("paid")})
	rec := k.get(r)
	require.Equal(k, store.Completed, rec.Status)
	require.False(k, rec.Held)
}

func completeIsFinal(k *kit) {
	r := k.reservation()
	k.insert(r)
	k.apply(r, store.Settlement{Outcome: store.Complete, Result: []byte("paid")})
	before := k.get(r)
	k.settle(r, store.Settlement{Outcome: store.Complete, Result: []byte("paid twice")})
	k.requireUnchanged(before)
	for _, s := range endings()[1:] {
		require.Equal(k, store.Stale, k.settle(r, s), s.Outcome.String())
		k.requireUnchanged(before)
	}
}

func completeOtherwise(k *kit) {
	all := []store.Settlement{
		{Outcome: store.Complete},
		{Outcome: store.Complete, Result: []byte{}},
		{Outcome: store.Complete, Result: []byte("paid")},
		{Outcome: store.Complete, Tombstone: store.ResultTooLarge},
		{Outcome: store.Complete, Tombstone: store.Purged},
	}
	for i, first := range all {
		r := k.reservation()
		k.insert(r)
		k.apply(r, first)
		for j, second := range all {
			if i != j {
				k.requireStale(r, second)
			}
		}
	}
}

// endings has one settlement of each kind, Complete first.
func endings() []store.Settlement {
	return []store.Settlement{
		{Outcome: store.Complete, Result: []byte("paid"), ResultSize: 4},
		{Outcome: store.Fail, Failure: []byte("boom"), EffectPossible: true},
		{Outcome: store.Fail, Failure: []byte("declined"), NonRetryable: true, NewGeneration: true},
		{Outcome: store.Release, EffectPossible: true},
		{Outcome: store.Release, NewGeneration: true},
		{Outcome: store.Hold},
		{Outcome: store.Hold, OwnLease: true},
		{Outcome: store.Pend, Lease: 2 * lease},
	}
}

func settleInvalid(k *kit) {
	good, bad := k.reservation(), k.reservation()
	k.insert(good)
	k.insert(bad)
	before := k.get(good)
	for field, s := range map[string]store.Settlement{
		"Token":          {Outcome: store.Complete},
		"Outcome":        {Token: bad.Token},
		"Result":         {Token: bad.Token, Outcome: store.Fail, Result: []byte("x")},
		"Failure":        {Token: bad.Token, Outcome: store.Complete, Failure: []byte("x")},
		"Tombstone":      {Token: bad.Token, Outcome: store.Complete, Tombstone: "lost"},
		"EffectPossible": {Token: bad.Token, Outcome: store.Hold, EffectPossible: true},
		"NewGeneration":  {Token: bad.Token, Outcome: store.Release, EffectPossible: true, NewGeneration: true},
		"OwnLease":       {Token: bad.Token, Outcome: store.Release, OwnLease: true},
		"Lease":          {Token: bad.Token, Outcome: store.Pend},
	} {
		s.Key = bad.Key
		_, err := k.Store.Settle(k.ctx, []store.Settlement{
			{Key: good.Key, Token: good.Token, Outcome: store.Complete}, s,
		})
		require.ErrorIs(k, err, store.ErrInvalidArgument)
		require.ErrorContains(k, err, field)
		k.requireUnchanged(before)
	}
}
