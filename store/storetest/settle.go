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
	k.apply(r, store.Settlement{Outcome: store.OutcomeComplete, Result: []byte("paid"), ResultSize: 4})
	rec := k.get(r)
	require.Equal(k, store.StatusCompleted, rec.Status)
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
	for _, tombstone := range []store.Tombstone{store.TombstoneResultTooLarge, store.TombstonePurged} {
		r := k.reservation()
		k.insert(r)
		k.apply(r, store.Settlement{Outcome: store.OutcomeComplete, Tombstone: tombstone, ResultSize: 3 << 32})
		rec := k.get(r)
		require.Equal(k, store.StatusCompleted, rec.Status)
		require.Nil(k, rec.Result)
		require.Equal(k, tombstone, rec.Tombstone)
		require.EqualValues(k, 3<<32, rec.ResultSize)
	}
}

func completeLate(k *kit) {
	r := k.reservation()
	k.insert(r)
	k.Advance(retention / 2)
	k.apply(r, store.Settlement{Outcome: store.OutcomeComplete, Result: []byte("paid")})
	require.Equal(k, store.StatusCompleted, k.get(r).Status)
}

func completeHeld(k *kit) {
	r := k.reservation(policy(store.Refuse))
	k.insert(r)
	k.Advance(lease + slack)
	k.apply(r, store.Settlement{Outcome: store.OutcomeHold})
	k.apply(r, store.Settlement{Outcome: store.OutcomeComplete, Result: []byte("paid")})
	rec := k.get(r)
	require.Equal(k, store.StatusCompleted, rec.Status)
	require.False(k, rec.Held)
}

func completeIsFinal(k *kit) {
	r := k.reservation()
	k.insert(r)
	k.apply(r, store.Settlement{Outcome: store.OutcomeComplete, Result: []byte("paid")})
	before := k.get(r)
	k.settle(r, store.Settlement{Outcome: store.OutcomeComplete, Result: []byte("paid twice")})
	k.requireUnchanged(before)
	for _, s := range endings()[1:] {
		require.Equal(k, store.SettledStale, k.settle(r, s), string(s.Outcome))
		k.requireUnchanged(before)
	}
}

func completeOtherwise(k *kit) {
	all := []store.Settlement{
		{Outcome: store.OutcomeComplete},
		{Outcome: store.OutcomeComplete, Result: []byte{}},
		{Outcome: store.OutcomeComplete, Result: []byte("paid")},
		{Outcome: store.OutcomeComplete, Tombstone: store.TombstoneResultTooLarge},
		{Outcome: store.OutcomeComplete, Tombstone: store.TombstonePurged},
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
		{Outcome: store.OutcomeComplete, Result: []byte("paid"), ResultSize: 4},
		{Outcome: store.OutcomeFail, Failure: []byte("boom"), EffectPossible: true},
		{Outcome: store.OutcomeFail, Failure: []byte("declined"), NonRetryable: true, NewGeneration: true},
		{Outcome: store.OutcomeRelease, EffectPossible: true},
		{Outcome: store.OutcomeRelease, NewGeneration: true},
		{Outcome: store.OutcomeHold},
		{Outcome: store.OutcomeHold, OwnLease: true},
		{Outcome: store.OutcomePend, Lease: 2 * lease},
	}
}

func settleInvalid(k *kit) {
	good, bad := k.reservation(), k.reservation()
	k.insert(good)
	k.insert(bad)
	before := k.get(good)
	for field, s := range map[string]store.Settlement{
		"Token":          {Outcome: store.OutcomeComplete},
		"Outcome":        {Token: bad.Token},
		"Result":         {Token: bad.Token, Outcome: store.OutcomeFail, Result: []byte("x")},
		"Failure":        {Token: bad.Token, Outcome: store.OutcomeComplete, Failure: []byte("x")},
		"Tombstone":      {Token: bad.Token, Outcome: store.OutcomeComplete, Tombstone: "lost"},
		"EffectPossible": {Token: bad.Token, Outcome: store.OutcomeHold, EffectPossible: true},
		"NewGeneration":  {Token: bad.Token, Outcome: store.OutcomeRelease, EffectPossible: true, NewGeneration: true},
		"OwnLease":       {Token: bad.Token, Outcome: store.OutcomeRelease, OwnLease: true},
		"Lease":          {Token: bad.Token, Outcome: store.OutcomePend},
	} {
		s.Key = bad.Key
		_, err := k.Store.Settle(k.ctx, []store.Settlement{
			{Key: good.Key, Token: good.Token, Outcome: store.OutcomeComplete}, s,
		})
		require.ErrorIs(k, err, store.ErrInvalidArgument)
		require.ErrorContains(k, err, field)
		k.requireUnchanged(before)
	}
}
