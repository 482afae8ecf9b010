package activity_test

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

var errDown = errors.New("connection refused")

// faulty is a store that goes down, loses answers and counts calls.
type faulty struct {
	store.Store
	down       atomic.Bool  // every call fails before it is carried out
	loseAnswer atomic.Int32 // how many calls fail after they were carried out
	renewals   atomic.Int32 // statements that renew
	hang       atomic.Int32 // how many of them get no answer
}

func (f *faulty) fault() error {
	if f.down.Load() {
		return errDown
	}
	return nil
}

func (f *faulty) lost(err error) error {
	if err == nil && f.loseAnswer.Load() > 0 && f.loseAnswer.Add(-1) >= 0 {
		return errDown
	}
	return err
}

func (f *faulty) Reserve(ctx context.Context, r []store.Reservation) ([]store.Found, error) {
	if err := f.fault(); err != nil {
		return nil, err
	}
	found, err := f.Store.Reserve(ctx, r)
	return found, f.lost(err)
}

func (f *faulty) Acquire(ctx context.Context, a []store.Acquisition) ([]store.Acquired, error) {
	if err := f.fault(); err != nil {
		return nil, err
	}
	got, err := f.Store.Acquire(ctx, a)
	return got, f.lost(err)
}

func (f *faulty) Renew(ctx context.Context, l []store.Lease) ([]store.Renewal, error) {
	f.renewals.Add(1)
	if f.hang.Add(-1) >= 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if err := f.fault(); err != nil {
		return nil, err
	}
	return f.Store.Renew(ctx, l)
}

func (f *faulty) Settle(ctx context.Context, s []store.Settlement) ([]store.Settled, error) {
	if err := f.fault(); err != nil {
		return nil, err
	}
	settled, err := f.Store.Settle(ctx, s)
	return settled, f.lost(err)
}
