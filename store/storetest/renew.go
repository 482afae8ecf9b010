package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

func renewTests() []named {
	return []named{
		{"a lease lasts its duration from each renewal on", renewExtends},
		{"a lease that ran out is renewed while nobody else owns the record", renewLate},
		{"a renewal does not move retention", renewKeepsRetention},
		{"a renewal may outlast retention", renewBeyondRetention},
		{"a held record stays held", renewHeld},
		{"a settled or pending record has no lease to renew", renewSettled},
		{"a renewal that was overtaken by a release does not revive the lease", renewReleased},
		{"a lease of another token is lost", renewOtherToken},
		{"a lease of an absent key is lost", renewAbsent},
		{"a lease that is not valid is refused", renewInvalid},
	}
}

func renewExtends(k *kit) {
	r := k.reservation()
	k.insert(r)
	for range 3 {
		k.Advance(lease - slack)
		require.True(k, k.get(r).LeaseLive())
		require.Equal(k, store.LeaseRenewed, k.renew(r))
		k.requireLease(lease, k.get(r))
	}
	r.Lease = 3 * lease
	require.Equal(k, store.LeaseRenewed, k.renew(r))
	k.requireLease(3*lease, k.get(r))
}

func renewLate(k *kit) {
	r := k.reservation()
	k.insert(r)
	k.Advance(lease + slack)
	require.False(k, k.get(r).LeaseLive())
	require.Equal(k, store.LeaseRenewed, k.renew(r))
	k.requireLease(lease, k.get(r))
}

func renewKeepsRetention(k *kit) {
	r := k.reservation()
	k.insert(r)
	before := k.get(r)
	k.Advance(lease / 2)
	require.Equal(k, store.LeaseRenewed, k.renew(r))
	after := k.get(r)
	k.requireLease(lease, after)
	after.LeaseLeft, after.UpdatedAt = before.LeaseLeft, before.UpdatedAt
	k.requireSame(before, after)
}

func renewBeyondRetention(k *kit) {
	r := k.reservation()
	k.insert(r)
	if k.Expires {
		k.Advance(retention - slack)
		require.Equal(k, store.LeaseRenewed, k.renew(r))
		k.Advance(2 * slack)
	} else {
		k.Advance(retention + slack)
		require.Equal(k, store.LeaseRenewed, k.renew(r))
	}
	_, err := k.Store.Evict(k.ctx, 1000)
	require.NoError(k, err)
	require.True(k, k.get(r).LeaseLive())
}

func renewHeld(k *kit) {
	r := k.reservation()
	k.insert(r)
	k.Advance(lease + slack)
	k.apply(r, store.Settlement{Outcome: store.OutcomeHold})
	require.Equal(k, store.LeaseRenewed, k.renew(r))
	rec := k.get(r)
	require.True(k, rec.Held)
	require.True(k, rec.LeaseLive())
}

func renewSettled(k *kit) {
	for _, s := range []store.Settlement{
		{Outcome: store.OutcomeComplete, Result: []byte("paid")},
		{Outcome: store.OutcomeFail, Failure: []byte("boom"), EffectPossible: true},
		{Outcome: store.OutcomePend, Lease: 2 * lease},
	} {
		r := k.reservation()
		k.insert(r)
		k.apply(r, s)
		before := k.get(r)
		require.Equal(k, store.LeaseLost, k.renew(r), string(s.Outcome))
		k.requireUnchanged(before)
	}
}

func renewReleased(k *kit) {
	for _, s := range []store.Settlement{
		{Outcome: store.OutcomeRelease},
		{Outcome: store.OutcomeRelease, EffectPossible: true},
		{Outcome: store.OutcomeHold, OwnLease: true},
	} {
		r := k.reservation()
		k.insert(r)
		k.apply(r, s)
		before := k.get(r)
		require.Equal(k, store.LeaseLost, k.renew(r))
		k.requireUnchanged(before)
	}
}

func renewOtherToken(k *kit) {
	r := k.reservation()
	k.insert(r)
	before := k.get(r)
	require.Equal(k, store.LeaseLost, k.renew(again(r)))
	k.requireUnchanged(before)
}

func renewAbsent(k *kit) {
	r := k.reservation()
	require.Equal(k, store.LeaseLost, k.renew(r))
	k.requireMissing(r)
}

func renewInvalid(k *kit) {
	r, other := k.reservation(), k.reservation()
	k.insert(r)
	k.insert(other)
	before := k.get(r)
	for field, bad := range map[string]store.Lease{
		"Duration": {Key: other.Key, Token: other.Token},
		"Token":    {Key: other.Key, Duration: lease},
	} {
		good := leaseOf(r)
		good.Duration = 5 * lease
		_, err := k.Store.Renew(k.ctx, []store.Lease{good, bad})
		require.ErrorIs(k, err, store.ErrInvalidArgument)
		require.ErrorContains(k, err, field)
	}
	k.requireUnchanged(before)
}
