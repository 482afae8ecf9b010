package storetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

func evictTests() []named {
	return []named{
		{"nothing is removed before its retention is over", evictEarly},
		{"an evicted key is new again", evictForgets},
		{"each state is removed or kept, by policy", evictStates},
		{"a live lease keeps a record beyond retention", evictLive},
		{"an acquisition begins retention anew", evictAcquired},
		{"the policy of the latest acquisition decides", evictPolicy},
		{"the oldest go first, and no more than the limit", evictOldest},
		{"a limit of zero removes nothing", evictZero},
	}
}

func (k *kit) evict(limit int) int {
	k.Helper()
	n, err := k.Store.Evict(k.ctx, limit)
	require.NoError(k, err)
	return n
}

// requireEvicted requires that Evict finds so many records to remove, unless they
// are gone by themselves.
func (k *kit) requireEvicted(want, limit int) {
	k.Helper()
	if k.Expires {
		want = 0
	}
	require.Equal(k, want, k.evict(limit))
}

// requireEvictable requires that the record goes when Evict is called, or went
// before.
func (k *kit) requireEvictable(r store.Reservation) {
	k.Helper()
	k.requireEvicted(1, 1000)
	k.requireMissing(r)
}

func evictEarly(k *kit) {
	r := k.reservation()
	k.insert(r)
	k.apply(r, store.Settlement{Outcome: store.OutcomeComplete})
	k.Advance(retention - slack)
	before := k.get(r)
	require.Zero(k, k.evict(1000))
	k.requireUnchanged(before)
}

func evictForgets(k *kit) {
	k.evictAll()
	r := k.reservation()
	k.insert(r)
	k.apply(r, store.Settlement{Outcome: store.OutcomeRelease, NewGeneration: true})
	k.Advance(retention + slack)
	k.requireEvictable(r)
	require.Equal(k, store.LeaseLost, k.renew(r))
	require.Equal(k, store.SettledMissing, k.settle(r, store.Settlement{Outcome: store.OutcomeComplete}))
	k.insert(again(r))
	require.Zero(k, k.get(r).Generation)
	require.Equal(k, 1, k.get(r).Acquisitions)
}

func evictStates(k *kit) {
	k.evictAll()
	// Removed under Reexecute, and under the policies that must know.
	removed := map[string][2]bool{
		"live":                    {true, false}, // its lease ends before its retention
		"late":                    {true, false},
		"released":                {true, false},
		"released without effect": {true, true},
		"held":                    {false, false},
		"pending":                 {false, false},
		"pending too long":        {false, false},
		"failed":                  {true, false},
		"failed without effect":   {true, true},
		"failed and held":         {false, false},
		"completed":               {true, true},
	}
	want := map[string]bool{}
	gone := 0
	for _, s := range states() {
		for i, policies := range [][]store.TakeoverPolicy{{store.Reexecute}, {store.Refuse, store.Verify}} {
			for _, p := range policies {
				r := k.reservation(policy(p))
				k.insert(r)
				s.reach(k, r)
				want[r.Key] = removed[s.name][i]
				if want[r.Key] {
					gone++
				}
			}
		}
	}
	k.Advance(retention + slack)
	k.requireEvicted(gone, 1000)
	for key, removed := range want {
		r := k.reservation(func(r *store.Reservation) { r.Key = key })
		if removed {
			k.requireMissing(r)
		} else {
			require.Equal(k, key, k.get(r).Key)
		}
	}
	require.Zero(k, k.evict(1000))
}

func evictLive(k *kit) {
	k.evictAll()
	r, abandoned := k.reservation(), k.reservation()
	k.insert(r)
	k.insert(abandoned)
	k.outlive(r)
	k.requireEvictable(abandoned)
	require.True(k, k.get(r).LeaseLive())
	k.Advance(2*lease + slack) // a store may give it one more, for owners to come back after a restart
	k.requireEvictable(r)
}

// outlive renews the leases of records that were just made, until retention is
// over and their leases are live. No lease is over when it is renewed after
// retention: a store may have removed the record then.
func (k *kit) outlive(all ...store.Reservation) {
	k.Helper()
	for _, d := range []time.Duration{retention / 2, retention/2 - slack, lease / 2} {
		k.Advance(d)
		for _, r := range all {
			require.Equal(k, store.LeaseRenewed, k.renew(r))
		}
	}
}

func evictAcquired(k *kit) {
	k.evictAll()
	r := k.reservation()
	k.insert(r)
	late := retention + slack
	if k.Expires {
		late = retention - slack
	}
	k.Advance(late)
	r = again(r)
	require.True(k, k.acquire(k.get(r), r).OK)
	k.apply(r, store.Settlement{Outcome: store.OutcomeComplete})
	k.Advance(retention - slack)
	require.Zero(k, k.evict(1000))
	require.Equal(k, store.StatusCompleted, k.get(r).Status)
	k.Advance(2 * slack)
	k.requireEvictable(r)
}

func evictPolicy(k *kit) {
	k.evictAll()
	lax, strict := k.reservation(), k.reservation(policy(store.Verify))
	k.insert(lax)
	k.insert(strict)
	k.Advance(lease + slack)
	require.True(k, k.acquire(k.get(lax), again(lax, policy(store.Refuse))).OK)
	require.True(k, k.acquire(k.get(strict), again(strict, policy(store.Reexecute))).OK)
	k.Advance(retention + slack)
	k.requireEvictable(strict)
	k.get(lax)
}

func evictOldest(k *kit) {
	k.evictAll()
	var all []store.Reservation
	for range 3 {
		all = append(all, k.reservation())
	}
	for _, i := range []int{2, 0, 1} { // not in the order of the keys
		k.insert(all[i])
		k.apply(all[i], store.Settlement{Outcome: store.OutcomeComplete})
		k.Advance(lease)
	}
	if k.Expires {
		k.requireExpiry(all[2], all[0], all[1])
		return
	}
	k.Advance(retention)
	require.Equal(k, 1, k.evict(1))
	k.requireMissing(all[2])
	k.get(all[1])
	require.Equal(k, 1, k.evict(1))
	k.requireMissing(all[0])
	k.get(all[1])
	require.Equal(k, 1, k.evict(5))
}

// requireExpiry requires that records which were made one after the other, a lease
// apart and the last of them a lease ago, go by themselves in this order.
func (k *kit) requireExpiry(all ...store.Reservation) {
	k.Helper()
	k.Advance(retention - time.Duration(len(all))*lease - lease/2)
	for i := range all {
		for _, r := range all[i:] {
			k.get(r)
		}
		k.Advance(lease)
		k.requireMissing(all[i])
	}
}

func evictZero(k *kit) {
	k.evictAll()
	r := k.reservation()
	k.insert(r)
	k.Advance(retention + slack)
	require.Zero(k, k.evict(0))
	if k.Expires {
		k.requireMissing(r)
		return
	}
	k.get(r)
}
