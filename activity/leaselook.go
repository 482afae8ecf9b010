package activity

import (
	"context"
	"sync"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// leaseLook is the last look at a lease. Effects that begin at once share one: of
// many renewals of one record at a time all but one would find it locked.
type leaseLook struct {
	once   sync.Once
	slot   chan struct{} // held by the one that looks
	began  time.Time     // of the last look that was answered
	answer store.Renewal
}

// look renews the execution's lease, or takes the answer of a renewal that has begun
// since it was called.
func (e *execution) look(ctx context.Context) (store.Renewal, error) {
	l, asked := &e.looks, time.Now()
	l.once.Do(func() { l.slot = make(chan struct{}, 1) })
	select {
	case l.slot <- struct{}{}:
		defer func() { <-l.slot }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if l.answer == store.LeaseLost || l.answer == store.LeaseRenewed && l.began.After(asked) {
		return l.answer, nil
	}
	began := time.Now()
	answers, err := e.i.keeper.ask(ctx, []*keptLease{e.kept}, e.i.options.StoreCallTimeout)
	if err != nil {
		return "", err
	}
	l.began, l.answer = began, answers[0]
	return l.answer, nil
}
