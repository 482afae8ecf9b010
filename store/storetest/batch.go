package storetest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

func batchTests() []named {
	return []named{
		{"reservations are answered in the order of the arguments", batchReserve},
		{"acquisitions are answered in the order of the arguments", batchAcquire},
		{"renewals are answered in the order of the arguments", batchRenew},
		{"settlements are answered in the order of the arguments", batchSettle},
		{"a key that stands twice is refused and nothing is changed", batchTwice},
		{"no arguments give no answers", batchEmpty},
		{"a large batch is answered as a whole", batchLarge},
	}
}

// shuffled returns n reservations whose keys are in no order.
func (k *kit) shuffled(n int) []store.Reservation {
	all := make([]store.Reservation, n)
	for i := range all {
		all[i] = k.reservation(func(r *store.Reservation) {
			r.Key = fmt.Sprintf("%d/%s", (i*7919+5)%n, r.Key)
			r.Owner = fmt.Sprint(i)
		})
	}
	return all
}

func batchReserve(k *kit) {
	all := k.shuffled(10)
	var owners []store.Reservation
	for i := 1; i < len(all); i += 3 {
		k.insert(all[i])
		owners = append(owners, all[i])
		all[i] = again(all[i])
	}
	found, err := k.Store.Reserve(k.ctx, all)
	require.NoError(k, err)
	require.Len(k, found, len(all))
	for i, f := range found {
		if i%3 != 1 {
			require.True(k, f.Inserted, "argument %d", i)
			require.Equal(k, all[i].Token, k.get(all[i]).Token)
			continue
		}
		require.False(k, f.Inserted, "argument %d", i)
		require.True(k, f.Exists, "argument %d", i)
		require.Equal(k, owners[i/3].Token, f.Record.Token)
		k.requireUnchanged(f.Record)
	}
}

func batchAcquire(k *kit) {
	all := k.shuffled(9)
	batch := make([]store.Acquisition, len(all))
	for i, r := range all {
		k.insert(r)
		if i%3 == 1 { // generation 1
			k.apply(r, store.Settlement{Outcome: store.OutcomeRelease, NewGeneration: true})
		}
	}
	k.Advance(lease + slack)
	for i, r := range all {
		seen := k.get(r)
		if i%3 == 2 {
			seen.Token = store.NewToken()
		}
		batch[i] = acquisition(seen, again(r))
	}
	got, err := k.Store.Acquire(k.ctx, batch)
	require.NoError(k, err)
	for i := range all {
		want := []store.Acquired{{OK: true}, {OK: true, Generation: 1}, {}}[i%3]
		require.Equal(k, want, got[i], "argument %d", i)
		require.Equal(k, want.OK, k.get(all[i]).Token == batch[i].Token)
	}
}

func batchRenew(k *kit) {
	all := k.shuffled(9)
	leases := make([]store.Lease, len(all))
	for i, r := range all {
		leases[i] = leaseOf(r)
		leases[i].Duration = lease + slack*2
		if i%3 != 2 { // the others are absent
			k.insert(r)
		}
		if i%3 == 1 {
			k.apply(r, store.Settlement{Outcome: store.OutcomeComplete})
		}
	}
	got, err := k.Store.Renew(k.ctx, leases)
	require.NoError(k, err)
	require.Len(k, got, len(all))
	for i := range all {
		require.Equal(k, []store.Renewal{store.LeaseRenewed, store.LeaseLost, store.LeaseLost}[i%3], got[i], "argument %d", i)
	}
	k.requireLease(lease+slack*2, k.get(all[0]))
}

func batchSettle(k *kit) {
	all := k.shuffled(3 * len(endings()))
	batch := make([]store.Settlement, len(all))
	for i, r := range all {
		batch[i] = endings()[i/3]
		batch[i].Key, batch[i].Token = r.Key, r.Token
		switch i % 3 {
		case 1: // somebody else's
			k.insert(again(r))
			continue
		case 2: // absent
			continue
		}
		k.insert(r)
		if batch[i].Outcome == store.OutcomeHold && !batch[i].OwnLease {
			k.apply(r, store.Settlement{Outcome: store.OutcomeRelease, EffectPossible: true})
		}
	}
	before := map[int]store.Record{}
	for i := range all {
		if i%3 != 2 {
			before[i] = k.get(all[i])
		}
	}
	got, err := k.Store.Settle(k.ctx, batch)
	require.NoError(k, err)
	require.Len(k, got, len(all))
	for i, r := range all {
		require.Equal(k, []store.Settled{store.SettledApplied, store.SettledStale, store.SettledMissing}[i%3], got[i], "argument %d, %v", i, batch[i].Outcome)
		switch i % 3 {
		case 0:
			k.requireOutcome(before[i], batch[i], k.get(r))
		case 1:
			k.requireUnchanged(before[i])
		}
	}
}

func batchTwice(k *kit) {
	r, fresh := k.reservation(), k.reservation()
	k.insert(r)
	k.Advance(lease + slack)
	before := k.get(r)
	refused := func(err error) {
		k.Helper()
		require.ErrorIs(k, err, store.ErrInvalidArgument)
		require.ErrorContains(k, err, r.Key)
		k.requireUnchanged(before)
		k.requireMissing(fresh)
	}
	_, err := k.Store.Reserve(k.ctx, []store.Reservation{again(r), fresh, again(r)})
	refused(err)
	_, err = k.Store.Acquire(k.ctx, []store.Acquisition{acquisition(before, again(r)), acquisition(before, again(r))})
	refused(err)
	_, err = k.Store.Renew(k.ctx, []store.Lease{leaseOf(r), leaseOf(r)})
	refused(err)
	s := store.Settlement{Key: r.Key, Token: r.Token, Outcome: store.OutcomeComplete}
	_, err = k.Store.Settle(k.ctx, []store.Settlement{s, s})
	refused(err)
}

func batchEmpty(k *kit) {
	found, err := k.Store.Reserve(k.ctx, nil)
	require.NoError(k, err)
	require.Empty(k, found)
	acquired, err := k.Store.Acquire(k.ctx, nil)
	require.NoError(k, err)
	require.Empty(k, acquired)
	renewed, err := k.Store.Renew(k.ctx, nil)
	require.NoError(k, err)
	require.Empty(k, renewed)
	settled, err := k.Store.Settle(k.ctx, nil)
	require.NoError(k, err)
	require.Empty(k, settled)
}

func batchLarge(k *kit) {
	all := k.shuffled(500)
	found, err := k.Store.Reserve(k.ctx, all)
	require.NoError(k, err)
	leases := make([]store.Lease, len(all))
	settlements := make([]store.Settlement, len(all))
	for i, r := range all {
		require.True(k, found[i].Inserted)
		leases[i] = leaseOf(r)
		settlements[i] = store.Settlement{Key: r.Key, Token: r.Token, Outcome: store.OutcomeComplete, Result: []byte(r.Key)}
	}
	renewed, err := k.Store.Renew(k.ctx, leases)
	require.NoError(k, err)
	settled, err := k.Store.Settle(k.ctx, settlements)
	require.NoError(k, err)
	found, err = k.Store.Reserve(k.ctx, all)
	require.NoError(k, err)
	for i, r := range all {
		require.Equal(k, store.LeaseRenewed, renewed[i])
		require.Equal(k, store.SettledApplied, settled[i])
		require.Equal(k, r.Key, string(found[i].Record.Result))
	}
}
