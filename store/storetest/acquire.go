package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

func acquireTests() []named {
	return []named{
		{"a record whose lease is over gets a new owner", acquireLate},
		{"a failed record gets a new owner and forgets its failure", acquireFailed},
		{"a released record gets a new owner at once", acquireReleased},
		{"a pending record gets a new owner when its lease is over", acquirePending},
		{"a record with a live lease is missed", acquireLive},
		{"a lease that was renewed since is missed", acquireRenewed},
		{"a completed record is missed", acquireCompleted},
		{"another token than the one seen is missed", acquireOtherToken},
		{"another status than the one seen is missed", acquireOtherStatus},
		{"a held record is acquired only by whoever saw the hold", acquireHeld},
		{"a key that is absent is missed", acquireAbsent},
		{"an acquisition that is not valid is refused", acquireInvalid},
	}
}

func acquireLate(k *kit) {
	r := k.reservation()
	k.insert(r)
	first := k.get(r)
	k.Advance(lease + slack)
	b := again(r, func(r *store.Reservation) {
		r.Hashes, r.Policy, r.Lease = []string{"v1:s2:bbbb", "v1:s1:aaaa"}, store.Verify, 2*lease
		r.Lineage, r.Invocation, r.RunID, r.Owner, r.TraceParent = "second", "run-2/7/1", "run-2", "b@host", ""
	})
	require.Equal(k, store.Acquired{OK: true}, k.acquire(first, b))

	rec := k.get(r)
	require.Equal(k, b.Token, rec.Token)
	require.Equal(k, store.StatusInProgress, rec.Status)
	require.Equal(k, "v1:s2:bbbb", rec.Hash)
	require.Equal(k, store.Verify, rec.Policy)
	require.True(k, rec.EffectPossible)
	require.Equal(k, 2, rec.Acquisitions)
	require.Equal(k, store.RecordVersion, rec.Version)
	k.requireOrigin(b.Origin, rec.Origin)
	k.requireLease(2*lease, rec)
	require.True(k, first.CreatedAt.Equal(rec.CreatedAt), "the record is as old as it was")
	require.WithinDuration(k, first.ExpiresAt.Add(lease+slack), rec.ExpiresAt, slack, "retention begins anew")
}

func acquireFailed(k *kit) {
	r := k.reservation()
	k.insert(r)
	k.apply(r, store.Settlement{Outcome: store.OutcomeFail, Failure: []byte("boom"), NonRetryable: true})
	b := again(r)
	require.True(k, k.acquire(k.get(r), b).OK)
	rec := k.get(r)
	require.Equal(k, store.StatusInProgress, rec.Status)
	require.Equal(k, b.Token, rec.Token)
	require.Nil(k, rec.Failure)
	require.False(k, rec.NonRetryable)
	require.True(k, rec.EffectPossible, "the new execution may have one")
	k.requireLease(lease, rec)
}

func acquireReleased(k *kit) {
	r := k.reservation()
	k.insert(r)
	k.apply(r, store.Settlement{Outcome: store.OutcomeRelease})
	b := again(r)
	require.True(k, k.acquire(k.get(r), b).OK)
	require.True(k, k.get(r).EffectPossible)
}

func acquirePending(k *kit) {
	r := k.reservation()
	k.insert(r)
	k.apply(r, store.Settlement{Outcome: store.OutcomePend, Lease: 2 * lease})
	require.False(k, k.acquire(k.get(r), again(r)).OK)
	k.Advance(2*lease + slack)
	require.True(k, k.acquire(k.get(r), again(r)).OK)
	require.False(k, k.get(r).Pending)
}

func acquireLive(k *kit) {
	r := k.reservation()
	k.insert(r)
	k.requireMiss(k.get(r), again(r))
}

// requireMiss requires that the acquisition misses and changes nothing.
func (k *kit) requireMiss(seen store.Record, r store.Reservation) {
	k.Helper()
	before := k.get(r)
	require.Equal(k, store.Acquired{}, k.acquire(seen, r))
	k.requireUnchanged(before)
}

func acquireRenewed(k *kit) {
	r := k.reservation()
	k.insert(r)
	k.Advance(lease + slack)
	seen := k.get(r)
	require.False(k, seen.LeaseLive())
	require.Equal(k, store.LeaseRenewed, k.renew(r))
	k.requireMiss(seen, again(r))
}

func acquireCompleted(k *kit) {
	r := k.reservation()
	k.insert(r)
	k.apply(r, store.Settlement{Outcome: store.OutcomeComplete, Result: []byte("paid")})
	k.requireMiss(k.get(r), again(r))
}

func acquireOtherToken(k *kit) {
	r := k.reservation()
	k.insert(r)
	k.Advance(lease + slack)
	seen := k.get(r)
	seen.Token = store.NewToken()
	k.requireMiss(seen, again(r))
}

func acquireOtherStatus(k *kit) {
	r := k.reservation()
	k.insert(r)
	k.Advance(lease + slack)
	seen := k.get(r)
	k.apply(r, store.Settlement{Outcome: store.OutcomeFail, Failure: []byte("boom"), EffectPossible: true})
	k.requireMiss(seen, again(r))
}

func acquireHeld(k *kit) {
	r := k.reservation(policy(store.Verify))
	k.insert(r)
	k.Advance(lease + slack)
	unheld := k.get(r)
	k.apply(r, store.Settlement{Outcome: store.OutcomeHold})
	k.requireMiss(unheld, again(r))

	held := k.get(r)
	require.True(k, held.Held)
	b := again(r)
	require.True(k, k.acquire(held, b).OK)
	rec := k.get(r)
	require.False(k, rec.Held)
	require.Equal(k, b.Token, rec.Token)

	k.Advance(lease + slack)
	k.requireMiss(store.Record{Token: b.Token, Status: store.StatusInProgress, Held: true}, again(r))
}

func acquireAbsent(k *kit) {
	r := k.reservation()
	seen := store.Record{Token: store.NewToken(), Status: store.StatusInProgress}
	require.Equal(k, store.Acquired{}, k.acquire(seen, r))
	k.requireMissing(r)
}

func acquireInvalid(k *kit) {
	r := k.reservation()
	k.insert(r)
	k.Advance(lease + slack)
	seen := k.get(r)
	bad := again(r, func(r *store.Reservation) { r.Lease = 0 })
	_, err := k.Store.Acquire(k.ctx, []store.Acquisition{acquisition(seen, bad)})
	require.ErrorIs(k, err, store.ErrInvalidArgument)
	require.ErrorContains(k, err, "Lease")
	k.requireUnchanged(seen)
}
