package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/memstore"
)

var errLost = errors.New("connection reset by peer")

// stub is a store in memory of which single methods are replaced. It counts
// what could have written something.
type stub struct {
	*memstore.Store

	reserve func(ctx context.Context, all []store.Reservation) ([]store.Found, error)
	acquire func(ctx context.Context, all []store.Acquisition) ([]store.Acquired, error)
	settle  func(ctx context.Context, all []store.Settlement) ([]store.Settled, error)
	renew   func(ctx context.Context, all []store.Lease) ([]store.Renewal, error)

	reserves, acquires, settles, renewals int

	// passed is how far the store's clock has gone.
	passed time.Duration
}

func newStub(t *testing.T) *stub {
	t.Helper()
	stub := &stub{}
	s, err := memstore.New(memstore.Options{Now: func() time.Time { return time.Unix(1_700_000_000, 0).Add(stub.passed) }})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	stub.Store = s
	stub.reserve, stub.acquire, stub.settle, stub.renew = s.Reserve, s.Acquire, s.Settle, s.Renew
	return stub
}

func (s *stub) Reserve(ctx context.Context, all []store.Reservation) ([]store.Found, error) {
	s.reserves++
	return s.reserve(ctx, all)
}

func (s *stub) Acquire(ctx context.Context, all []store.Acquisition) ([]store.Acquired, error) {
	s.acquires++
	return s.acquire(ctx, all)
}

func (s *stub) Settle(ctx context.Context, all []store.Settlement) ([]store.Settled, error) {
	s.settles++
	return s.settle(ctx, all)
}

func (s *stub) Renew(ctx context.Context, all []store.Lease) ([]store.Renewal, error) {
	s.renewals++
	return s.renew(ctx, all)
}

// calls tells what could have written something, reservations first.
func (s *stub) calls() []int { return []int{s.reserves, s.acquires, s.settles, s.renewals} }

// finds answers every reservation with one record.
func (s *stub) finds(r store.Record) {
	s.reserve = func(context.Context, []store.Reservation) ([]store.Found, error) {
		return []store.Found{{Exists: true, Record: r}}, nil
	}
}

// twice carries a call out two times and answers the second, as a store does
// that has lost the first answer and tries again.
func twice[A, B any](call func(context.Context, []A) ([]B, error)) func(context.Context, []A) ([]B, error) {
	return func(ctx context.Context, all []A) ([]B, error) {
		if _, err := call(ctx, all); err != nil {
			return nil, err
		}
		return call(ctx, all)
	}
}

// loses carries a call out and loses the answer.
func loses[A, B any](call func(context.Context, []A) ([]B, error)) func(context.Context, []A) ([]B, error) {
	return func(ctx context.Context, all []A) ([]B, error) {
		if _, err := call(ctx, all); err != nil {
			return nil, err
		}
		return nil, errLost
	}
}

// first lets f stand in for the first n calls.
func first[A, B any](n int, f, then func(context.Context, []A) ([]B, error)) func(context.Context, []A) ([]B, error) {
	return func(ctx context.Context, all []A) ([]B, error) {
		if n--; n >= 0 {
			return f(ctx, all)
		}
		return then(ctx, all)
	}
}

// evicted answers that the key was neither inserted nor seen.
func evicted(context.Context, []store.Reservation) ([]store.Found, error) {
	return make([]store.Found, 1), nil
}

// misses answers that somebody else was faster.
func misses(context.Context, []store.Acquisition) ([]store.Acquired, error) {
	return make([]store.Acquired, 1), nil
}
