package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

func boundsTests() []named {
	return []named{
		{"a store full of live records refuses a new key and drops none", boundsLive},
		{"a full store makes no room of what somebody has to resolve", boundsUnresolved},
		{"a full store still answers, renews, acquires and settles what it has", boundsServes},
		{"a full store makes room of records whose retention is over", boundsRoom},
	}
}

// bound is the size of the stores that are filled.
const bound = 3

// full returns a kit whose store is as full as it gets, and what is in it.
func (k *kit) full(changes ...func(*store.Reservation)) (*kit, []store.Reservation) {
	k.Helper()
	if k.Bounded == nil {
		k.Skip("the harness makes no store with a bound")
	}
	f := newKit(k.T, k.Bounded(k.T, bound))
	all := make([]store.Reservation, bound)
	for i := range all {
		all[i] = f.reservation(changes...)
		f.insert(all[i])
	}
	return f, all
}

// requireFull requires that new keys are refused, alone and beside others, and
// that everything stays as it is.
func (k *kit) requireFull(all []store.Reservation) {
	k.Helper()
	var before []store.Record
	for _, r := range all {
		before = append(before, k.get(r))
	}
	fresh := k.reservation()
	for _, call := range [][]store.Reservation{{fresh}, {again(all[0]), fresh}} {
		_, err := k.Store.Reserve(k.ctx, call)
		require.ErrorIs(k, err, store.ErrFull)
		k.requireMissing(fresh)
	}
	for _, b := range before {
		k.requireUnchanged(b)
	}
}

func boundsLive(k *kit) {
	f, all := k.full()
	f.requireFull(all)
	f.Advance(lease + slack) // dead owners are no reason to forget their calls
	f.requireFull(all)
	f, all = k.full()
	f.outlive(all...) // nor is retention while the lease is live
	f.requireFull(all)
}

func boundsUnresolved(k *kit) {
	f, all := k.full(policy(store.Refuse))
	f.apply(all[0], store.Settlement{Outcome: store.OutcomePend, Lease: lease})
	f.apply(all[1], store.Settlement{Outcome: store.OutcomeHold, OwnLease: true})
	f.Advance(2 * retention)
	f.requireFull(all)
}

func boundsServes(k *kit) {
	f, all := k.full()
	require.Equal(f, store.LeaseRenewed, f.renew(all[0]))
	f.requireVerdict(store.ActWait, again(all[0]))
	f.apply(all[1], store.Settlement{Outcome: store.OutcomeComplete, Result: []byte("paid")})
	f.requireVerdict(store.ActReplay, again(all[1]))
	f.apply(all[2], store.Settlement{Outcome: store.OutcomeRelease, EffectPossible: true})
	f.requireVerdict(store.ActAcquire, again(all[2]))
}

func boundsRoom(k *kit) {
	f, all := k.full()
	f.Advance(retention - slack)
	last := again(all[0])
	require.True(f, f.acquire(f.get(last), last).OK)
	f.Advance(2 * slack)
	for range bound - 1 {
		f.insert(f.reservation())
	}
	require.Equal(f, last.Token, f.get(last).Token)
	_, err := f.Store.Reserve(f.ctx, []store.Reservation{f.reservation()})
	require.ErrorIs(f, err, store.ErrFull)
}
