package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// callers is how many goroutines hammer one key.
const callers = 64

// Hammer lets 64 goroutines claim one key, over and over, while another evicts
// it continuously, until it was evicted so many times. Whoever is told that it
// acquired the key must find the record with its token. [Run] does this for a
// few evictions; a store with more to lose should bear some thousands.
func Hammer(t *testing.T, h Harness, evictions int) {
	t.Helper()
	newKit(t, h).hammer(evictions)
}

// hammer lets time pass only while nobody is between a claim and the look at
// its record, so that an acquired record has a live lease then.
func (k *kit) hammer(evictions int) {
	k.Helper()
	k.evictAll()
	r := k.reservation()
	var clock sync.RWMutex
	running, stop := context.WithCancel(k.ctx)
	errs := make([]error, callers+1)
	together(callers+1, func(i int) {
		if i == callers {
			defer stop()
			errs[i] = k.evictContinuously(running, r, &clock, evictions)
			return
		}
		for running.Err() == nil {
			if errs[i] = k.claimAndLook(again(r), &clock); errs[i] != nil {
				stop()
			}
		}
	})
	require.NoError(k, errors.Join(errs...))
}

func (k *kit) evictContinuously(running context.Context, r store.Reservation, clock *sync.RWMutex, want int) error {
	for evicted := 0; evicted < want && running.Err() == nil; {
		clock.Lock()
		gone, err := k.passRetention(r)
		clock.Unlock()
		if err != nil {
			return err
		}
		evicted += gone
		for range 3 { // the claims go on meanwhile
			n, err := k.Store.Evict(k.ctx, 10)
			if err != nil {
				return err
			}
			evicted += n
		}
	}
	return nil
}

// passRetention lets retention pass, and counts the record if it then went by
// itself.
func (k *kit) passRetention(r store.Reservation) (gone int, err error) {
	_, before := k.Store.Get(k.ctx, r.Key)
	k.Advance(retention + slack)
	if !k.Expires || before != nil {
		return 0, nil //nolint:nilerr // what was not there before has not gone by itself
	}
	switch _, after := k.Store.Get(k.ctx, r.Key); {
	case errors.Is(after, store.ErrNotFound):
		return 1, nil
	case after != nil:
		return 0, after
	}
	return 0, errors.New("the record outlived its retention")
}

func (k *kit) claimAndLook(r store.Reservation, clock *sync.RWMutex) error {
	clock.RLock()
	defer clock.RUnlock()
	c, err := store.Claim(k.ctx, k.Store, r)
	if errors.Is(err, store.ErrContended) {
		return nil
	}
	if err != nil || c.Action != store.ActAcquire {
		return err
	}
	rec, err := k.Store.Get(k.ctx, r.Key)
	if err != nil {
		return fmt.Errorf("acquired, but: %w", err)
	}
	if rec.Token != r.Token {
		return fmt.Errorf("acquired with %v, but the record has %v", r.Token, rec.Token)
	}
	settlement := store.Settlement{Key: r.Key, Token: r.Token, Outcome: store.OutcomeComplete}
	if rec.Token[0]%2 == 0 { // some leave the key to be acquired again
		settlement.Outcome = store.OutcomeRelease
	}
	_, err = k.Store.Settle(k.ctx, []store.Settlement{settlement})
	return err
}
