package activity

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/owner"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// transaction lets a store complete the execution's record beside the writes of
// its body. It is used by one goroutine.
type transaction struct {
	e *execution
	// leaving is the encoded result, remember whether the record has it.
	leaving  any
	remember bool
	// dropped: the lease is not being renewed.
	dropped bool
}

var (
	_ owner.Execution   = (*execution)(nil)
	_ owner.Transaction = (*transaction)(nil)
)

// Store is the one of the options.
func (e *execution) Store() store.Store { return e.i.options.Store }

// Begin claims the one transaction of the activity.
func (e *execution) Begin() (owner.Transaction, error) {
	switch {
	case e.unprotected:
		return nil, fmt.Errorf("%w: the activity runs unprotected, since the store could not be reached", ErrNotDeduplicated)
	case e.effect != nil:
		return nil, fmt.Errorf("dedupe: InTx records the result of the activity, and was called in effect %q: call it outside of Do",
			strings.Join(e.effect.path, "/"))
	}
	if err := e.body.beginTx(); err != nil {
		return nil, err
	}
	return &transaction{e: e}, nil
}

func (t *transaction) Lease() store.Lease { return t.e.kept.Lease }

func (t *transaction) Patience() time.Duration { return t.e.foreground(time.Now()) }

// Complete encodes the result as that of an activity. One that is too large is
// refused before anything is committed, and not remembered.
func (t *transaction) Complete(ctx context.Context, result any) (s store.Settlement, remember bool, err error) {
	e := t.e
	if e.policy.IsFinal != nil && !e.policy.IsFinal(result) {
		return s, false, nil
	}
	s = store.Settlement{Key: e.kept.Key, Token: e.kept.Token}
	payloads, err := e.i.encoding.complete(ctx, e.info, result, e.policy.MaxResultBytes, &s)
	switch {
	case err != nil:
		return s, false, err
	case s.Tombstone != "":
		return s, false, own(refuse(ErrTypeResultTooLarge, "the result of %q is %d bytes, over the limit of %d; the transaction was rolled back",
			e.call.key, s.ResultSize, e.policy.MaxResultBytes))
	}
	t.remember = true
	if payloads != nil {
		t.leaving = payloads
	}
	return s, true, nil
}

// Answer takes a record's result where a call would be answered with it.
func (t *transaction) Answer(ctx context.Context, found store.Record, into any) (bool, error) {
	e := t.e
	if found.Version > store.RecordVersion || found.Tombstone != "" || store.Decide(found, e.reservation()).Action != store.ActReplay {
		return false, nil
	}
	payloads, err := unmarshalPayloads(found.Result)
	if err == nil && payloads != nil {
		err = e.i.encoding.decode(ctx, e.info, payloads, into)
	}
	if err != nil {
		return false, own(refuse(ErrTypeRecordCorrupt, "the recorded result of %q cannot be read as %T: %v", e.call.key, into, err))
	}
	return true, nil
}

// Committing ends the renewing, which would take the completed record for a lost
// one. Nobody can take the record over: it is locked.
func (t *transaction) Committing() {
	t.dropped = true
	t.e.drop()
}

func (t *transaction) Committed() {
	if t.remember {
		t.e.span.Settled(string(store.OutcomeComplete), string(store.SettledApplied))
		t.e.body.endTx(bodyRecorded, t.leaving, nil)
		return
	}
	t.keep()
	t.e.body.endTx(bodyDone, nil, nil)
}

func (t *transaction) RolledBack() {
	t.keep()
	t.e.body.endTx(bodyRuns, nil, nil)
}

func (t *transaction) Doubtful(err error) error {
	t.keep()
	doubt := own(later(ErrTypeStoreUnavailable, 0, err,
		"the transaction of call %q may have been committed, or not: the database could not be asked; the next attempt finds out", t.e.call.key))
	t.e.body.endTx(bodyDoubtful, nil, doubt)
	return doubt
}

// keep renews the lease again.
func (t *transaction) keep() {
	if t.dropped {
		t.dropped = false
		t.e.i.keeper.keep(t.e.kept)
	}
}

func (t *transaction) Lost() error { return lostLease(t.e.call) }

func (t *transaction) Unavailable(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return own(later(ErrTypeStoreUnavailable, t.e.outageDelay(), err, "the transaction of call %q was rolled back: the record could not be reached", t.e.call.key))
}

func (t *transaction) Serialization(err error) error {
	return own(later(ErrTypeSerialization, 0, err, "the transaction of call %q lost against a concurrent one and was rolled back", t.e.call.key))
}
