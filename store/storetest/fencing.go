package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

func fencingTests() []named {
	return []named{
		{"an owner that was overtaken changes nothing while the next one runs", fenceRunning},
		{"an owner that was overtaken changes nothing when the next one is done", fenceDone},
		{"an owner that was overtaken changes nothing in a key used anew", fenceAnew},
	}
}

// requireFenced requires that the stale owner's renewal and every settlement of
// it are refused, and that the record stays byte for byte.
func (k *kit) requireFenced(stale store.Reservation) {
	k.Helper()
	before := k.get(stale)
	require.Equal(k, store.LeaseLost, k.renew(stale))
	k.requireUnchanged(before)
	for _, s := range endings() {
		k.requireStale(stale, s)
	}
}

// overtake returns the reservations of an owner and of its successor.
func (k *kit) overtake() (stale, owner store.Reservation) {
	k.Helper()
	stale = k.reservation()
	k.insert(stale)
	k.Advance(lease + slack)
	owner = again(stale)
	require.True(k, k.acquire(k.get(stale), owner).OK)
	return stale, owner
}

func fenceRunning(k *kit) {
	stale, owner := k.overtake()
	k.requireFenced(stale)
	require.Equal(k, store.LeaseRenewed, k.renew(owner))
	k.Advance(lease + slack)
	k.requireFenced(stale)
}

func fenceDone(k *kit) {
	for _, s := range endings() {
		stale, owner := k.overtake()
		if s.Outcome == store.OutcomeHold && !s.OwnLease {
			k.Advance(lease + slack)
		}
		k.apply(owner, s)
		k.requireFenced(stale)
	}
}

func fenceAnew(k *kit) {
	stale := k.reservation()
	k.insert(stale)
	k.apply(stale, store.Settlement{Outcome: store.OutcomeComplete, Result: []byte("paid")})
	k.evictAll()
	k.insert(again(stale))
	k.requireFenced(stale)
}

// evictAll lets retention pass and evicts.
func (k *kit) evictAll() {
	k.Helper()
	k.Advance(retention + slack)
	for n := 1; n > 0; {
		var err error
		n, err = k.Store.Evict(k.ctx, 1000)
		require.NoError(k, err)
	}
}
