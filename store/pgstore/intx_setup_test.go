package pgstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/owner"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// Errors that a fake execution makes of those that it is told.
var (
	errLost          = errors.New("lost")
	errUnavailable   = errors.New("unavailable")
	errSerialization = errors.New("serialization")
	errDoubtful      = errors.New("doubtful")
)

// fakeExecution is an execution that owns a record, as the activity side is one,
// whose results are JSON. It notes how its transactions ended.
type fakeExecution struct {
	store   store.Store
	lease   store.Lease
	notes   []string
	refuses error // of Begin
	encode  error
	unfinal bool
}

func ownerOf(s store.Store, r store.Reservation) *fakeExecution {
	return &fakeExecution{store: s, lease: leaseOf(r)}
}

// context is the one of the execution's body.
func (e *fakeExecution) context(t testing.TB) context.Context {
	return owner.With(context.WithoutCancel(t.Context()), e)
}

func (e *fakeExecution) note(text string) { e.notes = append(e.notes, text) }

func (e *fakeExecution) Store() store.Store { return e.store }
func (e *fakeExecution) Begin() (owner.Transaction, error) {
	if e.refuses != nil {
		return nil, e.refuses
	}
	return e, nil
}
func (e *fakeExecution) Lease() store.Lease      { return e.lease }
func (e *fakeExecution) Patience() time.Duration { return 20 * time.Second }
func (e *fakeExecution) Complete(_ context.Context, result any) (store.Settlement, bool, error) {
	if e.encode != nil || e.unfinal {
		return store.Settlement{}, false, e.encode
	}
	b, err := json.Marshal(result)
	return store.Settlement{Key: e.lease.Key, Token: e.lease.Token, Outcome: store.OutcomeComplete, Result: b, ResultSize: int64(len(b))}, true, err
}
func (e *fakeExecution) Answer(_ context.Context, found store.Record, into any) (bool, error) {
	if found.Status != store.StatusCompleted {
		return false, nil
	}
	return true, json.Unmarshal(found.Result, into)
}
func (e *fakeExecution) Committing() { e.note("committing") }
func (e *fakeExecution) Committed()  { e.note("committed") }
func (e *fakeExecution) RolledBack() { e.note("rolled back") }
func (e *fakeExecution) Doubtful(err error) error {
	e.note("doubtful")
	return errors.Join(errDoubtful, err)
}
func (e *fakeExecution) Lost() error                   { return errLost }
func (e *fakeExecution) Unavailable(err error) error   { return errors.Join(errUnavailable, err) }
func (e *fakeExecution) Serialization(err error) error { return errors.Join(errSerialization, err) }

// setupTx makes a bundle with a record that an execution owns, and a table for the
// writes.
func setupTx(t *testing.T, changes ...func(*pgxpool.Config)) (bundle, store.Reservation, *fakeExecution) {
	t.Helper()
	b := setup(t, pgstore.Options{CallTimeout: 20 * time.Second}, changes...)
	execute(t, b.pool, `CREATE TABLE transfers (id text NOT NULL)`)
	r := reservation("order-42")
	insert(t, b.store, r)
	return b, r, ownerOf(b.store, r)
}

// transfers counts what the transactions wrote.
func (b bundle) transfers(t *testing.T) int {
	t.Helper()
	return value[int](t, b.pool, `SELECT count(*) FROM transfers`)
}

// requireOwned asserts that nothing of a transaction stands, and that its execution
// still owns the record.
func (b bundle) requireOwned(t *testing.T, r store.Reservation) {
	t.Helper()
	require.Zero(t, b.transfers(t))
	record := get(t, b.store, r)
	require.Equal(t, store.StatusInProgress, record.Status)
	require.Equal(t, r.Token, record.Token)
	require.True(t, record.LeaseLive())
}
