package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

func raceTests() []named {
	return []named{
		{"one of 10 parallel reservations is inserted", func(k *kit) { raceReserve(k, 10) }},
		{"one of 100 parallel reservations is inserted", func(k *kit) { raceReserve(k, 100) }},
		{"one of 32 parallel acquisitions is carried out", raceAcquire},
		{"an owner that completes late or its successor gets the record, never both", raceComplete},
		{"an owner that renews late or its successor gets the record, never both", raceRenew},
		{"batches that share keys do not block each other", raceBatches},
		{"whoever acquires a key has its record, though it is evicted again and again", func(k *kit) { k.hammer(10) }},
	}
}

// together runs f in n goroutines at once and waits for all of them.
func together(n int, f func(i int)) {
	var begun, done sync.WaitGroup
	begun.Add(1)
	for i := range n {
		done.Go(func() {
			begun.Wait()
			f(i)
		})
	}
	begun.Done()
	done.Wait()
}

func raceReserve(k *kit, callers int) {
	for range 50 {
		r := k.reservation()
		tokens := make([]store.Token, callers)
		founds, errs := make([][]store.Found, callers), make([]error, callers)
		together(callers, func(i int) {
			mine := again(r)
			tokens[i] = mine.Token
			founds[i], errs[i] = k.Store.Reserve(k.ctx, []store.Reservation{mine})
		})
		require.NoError(k, errors.Join(errs...))
		var winners []store.Token
		owner := k.get(r).Token
		for i, found := range founds {
			if found[0].Inserted {
				winners = append(winners, tokens[i])
				continue
			}
			require.True(k, found[0].Exists, "nobody evicts")
			require.Equal(k, owner, found[0].Record.Token)
			require.True(k, found[0].Record.LeaseLive())
		}
		require.Equal(k, []store.Token{owner}, winners)
	}
}

func raceAcquire(k *kit) {
	const callers = 32
	for range 10 {
		r := k.reservation()
		k.insert(r)
		k.Advance(lease + slack)
		seen := k.get(r)
		mine := make([]store.Reservation, callers)
		got, errs := make([][]store.Acquired, callers), make([]error, callers)
		together(callers, func(i int) {
			mine[i] = again(r)
			got[i], errs[i] = k.Store.Acquire(k.ctx, []store.Acquisition{acquisition(seen, mine[i])})
		})
		require.NoError(k, errors.Join(errs...))
		rec := k.get(r)
		var winners []store.Token
		for i := range got {
			if got[i][0].OK {
				winners = append(winners, mine[i].Token)
			}
		}
		require.Equal(k, []store.Token{rec.Token}, winners)
		require.Equal(k, 2, rec.Acquisitions)
	}
}

// raceLate lets an owner whose lease is over and its successor meet.
func (k *kit) raceLate(late func(r store.Reservation) (bool, error)) {
	k.Helper()
	for range 20 {
		r := k.reservation()
		k.insert(r)
		k.Advance(lease + slack)
		seen, next := k.get(r), again(r)
		var settled, acquired bool
		var errs [2]error
		together(2, func(i int) {
			if i == 0 {
				settled, errs[0] = late(r)
				return
			}
			got, err := k.Store.Acquire(k.ctx, []store.Acquisition{acquisition(seen, next)})
			acquired, errs[1] = err == nil && got[0].OK, err
		})
		require.NoError(k, errors.Join(errs[:]...))
		require.NotEqual(k, settled, acquired, "one of them")
		rec := k.get(r)
		require.Equal(k, acquired, rec.Token == next.Token)
	}
}

func raceComplete(k *kit) {
	k.raceLate(func(r store.Reservation) (bool, error) {
		got, err := k.Store.Settle(k.ctx, []store.Settlement{{Key: r.Key, Token: r.Token, Outcome: store.OutcomeComplete}})
		return err == nil && got[0] == store.SettledApplied, err
	})
}

func raceRenew(k *kit) {
	k.raceLate(func(r store.Reservation) (bool, error) {
		for {
			got, err := k.Store.Renew(k.ctx, []store.Lease{leaseOf(r)})
			if err != nil || got[0] != store.LeaseLocked {
				return err == nil && got[0] == store.LeaseRenewed, err
			}
		}
	})
}

func raceBatches(k *kit) {
	const callers, size = 6, 40
	all := make([]store.Reservation, size)
	for i := range all {
		all[i] = k.reservation()
	}
	var mu sync.Mutex
	inserted := map[string]int{}
	errs := make([]error, callers)
	together(callers, func(i int) {
		random := rand.New(rand.NewPCG(1, uint64(i)))
		mine := map[string]store.Reservation{}
		batch := make([]store.Reservation, size)
		for j, at := range random.Perm(size) {
			batch[j] = again(all[at])
			mine[batch[j].Key] = batch[j]
		}
		found, err := k.Store.Reserve(k.ctx, batch)
		if err != nil {
			errs[i] = err
			return
		}
		leases, settlements := make([]store.Lease, size), make([]store.Settlement, size)
		for j, at := range random.Perm(size) {
			leases[j] = leaseOf(mine[all[at].Key])
			settlements[size-1-j] = store.Settlement{Key: leases[j].Key, Token: leases[j].Token, Outcome: store.OutcomeComplete}
		}
		_, err = k.Store.Renew(k.ctx, leases)
		settled, err2 := k.Store.Settle(k.ctx, settlements)
		errs[i] = errors.Join(err, err2)
		mu.Lock()
		defer mu.Unlock()
		won := map[string]bool{}
		for j, f := range found {
			if f.Inserted {
				won[batch[j].Key] = true
				inserted[batch[j].Key]++
			}
		}
		for j, s := range settled {
			if (s == store.SettledApplied) != won[settlements[j].Key] {
				errs[i] = errors.Join(errs[i], fmt.Errorf("key %q: settled %v, inserted %v", settlements[j].Key, s, won[settlements[j].Key]))
			}
		}
	})
	require.NoError(k, errors.Join(errs...))
	require.Len(k, inserted, size)
	for _, r := range all {
		require.Equal(k, 1, inserted[r.Key])
		require.Equal(k, store.StatusCompleted, k.get(r).Status)
	}
}
