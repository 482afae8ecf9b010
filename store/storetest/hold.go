package storetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

func holdTests() []named {
	return []named{
		{"a record whose lease is over is held with its effect", holdLate},
		{"a failed record is held with its failure", holdFailed},
		{"a live lease ends only by its own owner's hold", holdLive},
		{"an owner that came back is not held by whoever saw it gone", holdRenewed},
		{"a record without a possible effect is not held", holdNoEffect},
		{"a record that was acquired since is not held", holdAcquired},
	}
}

func pendTests() []named {
	return []named{
		{"a pending record has the lease that it was given", pendLease},
		{"a pending record is completed by its token", pendComplete},
		{"a pending record may wait for months", pendMonths},
		{"a late owner can hand the call over", pendLate},
	}
}

func holdLate(k *kit) {
	r := k.reservation(policy(store.Refuse))
	k.insert(r)
	before := k.get(r)
	k.Advance(lease + slack)
	k.apply(r, store.Settlement{Outcome: store.OutcomeHold})
	rec := k.get(r)
	require.True(k, rec.Held)
	require.True(k, rec.EffectPossible)
	require.Equal(k, store.StatusInProgress, rec.Status)
	k.requireLeaseOver(rec)
	k.requireIdentity(before, rec)
}

func holdFailed(k *kit) {
	r := k.reservation(policy(store.Refuse))
	k.insert(r)
	k.apply(r, store.Settlement{Outcome: store.OutcomeFail, Failure: []byte("boom"), EffectPossible: true})
	k.apply(r, store.Settlement{Outcome: store.OutcomeHold})
	rec := k.get(r)
	require.True(k, rec.Held)
	require.True(k, rec.EffectPossible)
	require.Equal(k, store.StatusFailed, rec.Status)
	require.Equal(k, []byte("boom"), rec.Failure)
}

func holdLive(k *kit) {
	r := k.reservation(policy(store.Verify))
	k.insert(r)
	k.requireStale(r, store.Settlement{Outcome: store.OutcomeHold})
	k.apply(r, store.Settlement{Outcome: store.OutcomeHold, OwnLease: true})
	rec := k.get(r)
	require.True(k, rec.Held)
	require.True(k, rec.EffectPossible)
	require.Equal(k, store.StatusInProgress, rec.Status)
	k.requireLeaseOver(rec)
}

// requireStale requires that the settlement is refused and changes nothing.
func (k *kit) requireStale(r store.Reservation, s store.Settlement) {
	k.Helper()
	before := k.get(r)
	require.Equal(k, store.SettledStale, k.settle(r, s), string(s.Outcome))
	k.requireUnchanged(before)
}

func holdRenewed(k *kit) {
	r := k.reservation(policy(store.Refuse))
	k.insert(r)
	k.Advance(lease + slack)
	require.Equal(k, store.ActUnknown, store.Decide(k.get(r), again(r)).Action)
	require.Equal(k, store.LeaseRenewed, k.renew(r))
	k.requireStale(r, store.Settlement{Outcome: store.OutcomeHold})
	require.True(k, k.get(r).LeaseLive())
}

func holdNoEffect(k *kit) {
	for _, s := range []store.Settlement{
		{Outcome: store.OutcomeRelease},
		{Outcome: store.OutcomeFail, Failure: []byte("declined")},
	} {
		r := k.reservation(policy(store.Refuse))
		k.insert(r)
		k.apply(r, s)
		k.requireStale(r, store.Settlement{Outcome: store.OutcomeHold})
		k.requireStale(r, store.Settlement{Outcome: store.OutcomeHold, OwnLease: true})
	}
}

func holdAcquired(k *kit) {
	r := k.reservation()
	k.insert(r)
	k.Advance(lease + slack)
	require.True(k, k.acquire(k.get(r), again(r)).OK)
	k.Advance(lease + slack)
	k.requireStale(r, store.Settlement{Outcome: store.OutcomeHold})
	k.requireStale(r, store.Settlement{Outcome: store.OutcomeHold, OwnLease: true})
}

func pendLease(k *kit) {
	r := k.reservation()
	k.insert(r)
	before := k.get(r)
	k.apply(r, store.Settlement{Outcome: store.OutcomePend, Lease: 3 * lease})
	rec := k.get(r)
	require.True(k, rec.Pending)
	require.True(k, rec.EffectPossible)
	require.Equal(k, store.StatusInProgress, rec.Status)
	k.requireLease(3*lease, rec)
	k.requireIdentity(before, rec)
	k.Advance(3*lease + slack)
	rec = k.get(r)
	require.True(k, rec.Pending)
	require.False(k, rec.LeaseLive())
}

func pendComplete(k *kit) {
	r := k.reservation()
	k.insert(r)
	k.apply(r, store.Settlement{Outcome: store.OutcomePend, Lease: lease})
	k.apply(r, store.Settlement{Outcome: store.OutcomeComplete, Result: []byte("paid")})
	rec := k.get(r)
	require.Equal(k, store.StatusCompleted, rec.Status)
	require.False(k, rec.Pending)
	require.Equal(k, []byte("paid"), rec.Result)
}

func pendMonths(k *kit) {
	const months = 100 * 24 * time.Hour // more milliseconds than an int32 holds
	r := k.reservation()
	k.insert(r)
	k.apply(r, store.Settlement{Outcome: store.OutcomePend, Lease: months})
	k.requireLease(months, k.get(r))
}

func pendLate(k *kit) {
	r := k.reservation()
	k.insert(r)
	k.Advance(lease + slack)
	k.apply(r, store.Settlement{Outcome: store.OutcomePend, Lease: lease})
	rec := k.get(r)
	require.True(k, rec.Pending)
	require.True(k, rec.LeaseLive())
}
