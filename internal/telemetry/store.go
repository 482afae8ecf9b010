package telemetry

import (
	"context"
	"errors"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// Operations of a store.
const (
	opReserve = "reserve"
	opAcquire = "acquire"
	opRenew   = "renew"
	opSettle  = "settle"
	opGet     = "get"
	opEvict   = "evict"
)

var operations = []string{opReserve, opAcquire, opRenew, opSettle, opGet, opEvict}

type storeCall struct{ operation, outcome string }

// Store returns the store with its calls measured.
func (t *Telemetry) Store(s store.Store) store.Store { return measured{s, t} }

type measured struct {
	store.Store
	t *Telemetry
}

// Unwrap returns the store itself: see [store.As].
func (m measured) Unwrap() store.Store { return m.Store }

// called records one call. What a store says about a record is no error.
func (m measured) called(ctx context.Context, operation string, begun time.Time, err error) {
	outcome := callOK
	switch {
	case err == nil, errors.Is(err, store.ErrNotFound):
	case errors.Is(err, context.Canceled):
		outcome = callCanceled
	default:
		outcome = callFailed
	}
	m.t.storeLatency.Record(ctx, time.Since(begun).Seconds(), m.t.storeCalls[storeCall{operation, outcome}].record...)
}

func (m measured) Reserve(ctx context.Context, all []store.Reservation) ([]store.Found, error) {
	begun := time.Now()
	answers, err := m.Store.Reserve(ctx, all)
	m.called(ctx, opReserve, begun, err)
	return answers, err
}

func (m measured) Acquire(ctx context.Context, all []store.Acquisition) ([]store.Acquired, error) {
	begun := time.Now()
	answers, err := m.Store.Acquire(ctx, all)
	m.called(ctx, opAcquire, begun, err)
	return answers, err
}

func (m measured) Renew(ctx context.Context, all []store.Lease) ([]store.Renewal, error) {
	begun := time.Now()
	answers, err := m.Store.Renew(ctx, all)
	m.called(ctx, opRenew, begun, err)
	return answers, err
}

func (m measured) Settle(ctx context.Context, all []store.Settlement) ([]store.Settled, error) {
	begun := time.Now()
	answers, err := m.Store.Settle(ctx, all)
	m.called(ctx, opSettle, begun, err)
	return answers, err
}

func (m measured) Get(ctx context.Context, key string) (store.Record, error) {
	begun := time.Now()
	r, err := m.Store.Get(ctx, key)
	m.called(ctx, opGet, begun, err)
	return r, err
}

func (m measured) Evict(ctx context.Context, limit int) (int, error) {
	begun := time.Now()
	n, err := m.Store.Evict(ctx, limit)
	m.called(ctx, opEvict, begun, err)
	return n, err
}
