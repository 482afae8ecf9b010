package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// A caller whose answer was lost calls again with the same arguments.
func lostAckTests() []named {
	return []named{
		{"a repeated reservation finds its own token", lostReserve},
		{"a repeated acquisition acquires nothing more", lostAcquire},
		{"a repeated renewal renews again", lostRenew},
		{"a repeated settlement is answered in the same way and changes nothing", lostSettle},
		{"a failure that was held meanwhile stays held when it is repeated", lostFailHeld},
		{"a repeated eviction removes nothing that lives", lostEvict},
	}
}

func lostReserve(k *kit) {
	r := k.reservation()
	k.insert(r)
	before := k.get(r)
	found := k.reserve(r)
	require.False(k, found.Inserted)
	require.True(k, found.Exists)
	require.Equal(k, r.Token, found.Record.Token)
	require.Equal(k, 1, found.Record.Acquisitions)
	k.requireUnchanged(before)
}

func lostAcquire(k *kit) {
	r := k.reservation()
	k.insert(r)
	k.Advance(lease + slack)
	seen, b := k.get(r), again(r)
	require.True(k, k.acquire(seen, b).OK)
	before := k.get(r)
	k.acquire(seen, b)
	k.requireUnchanged(before)
	found := k.reserve(b)
	require.Equal(k, b.Token, found.Record.Token)
	require.Equal(k, 2, found.Record.Acquisitions)
}

func lostRenew(k *kit) {
	r := k.reservation()
	k.insert(r)
	require.Equal(k, store.LeaseRenewed, k.renew(r))
	before := k.get(r)
	require.Equal(k, store.LeaseRenewed, k.renew(r))
	k.requireRepeated(before)
}

func lostSettle(k *kit) {
	for _, s := range endings() {
		r := k.reservation()
		k.insert(r)
		if s.Outcome == store.OutcomeHold && !s.OwnLease {
			k.Advance(lease + slack)
		}
		k.apply(r, s)
		before := k.get(r)
		k.apply(r, s)
		k.requireRepeated(before)
	}
}

func lostFailHeld(k *kit) {
	r := k.reservation(policy(store.Refuse))
	k.insert(r)
	fail := store.Settlement{Outcome: store.OutcomeFail, Failure: []byte("boom"), EffectPossible: true}
	k.apply(r, fail)
	k.apply(r, store.Settlement{Outcome: store.OutcomeHold})
	before := k.get(r)
	require.True(k, before.Held)
	k.apply(r, fail)
	k.requireRepeated(before)
}

func lostEvict(k *kit) {
	r := k.reservation()
	k.insert(r)
	k.evictAll()
	k.requireMissing(r)
	k.insert(again(r))
	before := k.get(r)
	n, err := k.Store.Evict(k.ctx, 1000)
	require.NoError(k, err)
	require.Zero(k, n)
	k.requireUnchanged(before)
}
