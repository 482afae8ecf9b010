package pgstore

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/jackc/pgx/v5"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/owner"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// TxPool is what [InTx] needs of a pool. *[pgxpool.Pool] has it, and so do wrappers
// around one, a single connection and the pool of pgxmock.
//
// [pgxpool.Pool]: https://pkg.go.dev/github.com/jackc/pgx/v5/pgxpool#Pool
type TxPool interface {
	// BeginTx begins a transaction.
	BeginTx(ctx context.Context, options pgx.TxOptions) (pgx.Tx, error)
}

// InTx runs fn in a transaction and completes the record of the activity that ctx
// belongs to in that very transaction, with what fn returns for the activity's
// result: the writes of fn and the record are committed together, or neither is.
// Whatever the body of the activity returns afterwards, the recorded result is what
// Temporal gets, and what every retry is answered with.
//
// pool leads to the database that has the records, those of the store in
// Options.Store; a decorator around that store has a method Unwrap() store.Store.
// The record's row is locked before fn runs, and completed after it.
// While fn runs nobody can take the call over, but a transaction that idles for
// longer than the lease (between 3 and 30 seconds) is ended by the server.
//
// fn uses the transaction it is given, and neither commits it nor rolls it back: it
// returns an error for that. It should do nothing beside, since it may be rolled back
// when it has returned. The transaction is rolled back when fn returns an error,
// which InTx returns as it is, when it panics, when its result cannot be encoded or is
// over Policy.MaxResultBytes. InTx may then be called again; after a commit it may
// not, nor may Do, and within fn there is no Do either. A result that
// Policy.IsFinal does not accept is committed and not recorded: the call can run
// again.
//
// An error of the database's that tells of a concurrent transaction (a serialization
// failure, a deadlock) becomes one of type dedupe.Serialization. It, and every other
// error of InTx itself, is for the body to return, wrapped or not: it is not recorded
// as the activity's outcome, and Temporal tries again. One that wraps
// dedupe.ErrLeaseLost says that another execution has the call; if that one has
// completed it already, InTx returns its result instead. Under the takeover policies
// Refuse and Verify, an attempt that failed leaves an outcome that nobody knows even
// if its transaction was rolled back, since the body may have done more than that: if
// it has not, mark the error with dedupe.NoEffect.
//
// A commit whose answer was lost is looked for, on another connection, with a lock
// that outwaits the transaction. Without a record, and outside an activity, the
// answer is dedupe.ErrNotDeduplicated, and fn does not run.
func InTx[T any](ctx context.Context, pool TxPool, fn func(pgx.Tx) (T, error)) (T, error) {
	return InTxWith(ctx, pool, pgx.TxOptions{}, fn)
}

// InTxWith is [InTx] with transaction options, such as an isolation level. The
// access mode cannot be read-only.
func InTxWith[T any](ctx context.Context, pool TxPool, options pgx.TxOptions, fn func(pgx.Tx) (T, error)) (T, error) {
	var result, none T
	x, err := beginInTx(ctx, pool, options)
	if err != nil {
		return none, err
	}
	err = x.run(ctx, &result, func(tx pgx.Tx) (any, error) {
		var err error
		result, err = fn(tx)
		return result, err
	})
	if err != nil {
		return none, err
	}
	return result, nil
}

// inTx is one call of InTx.
type inTx struct {
	s       *Store
	pool    TxPool
	options pgx.TxOptions
	t       owner.Transaction
	lease   store.Lease
	over    bool // the transaction is, or it is being committed
}

// beginInTx claims the execution's transaction.
func beginInTx(ctx context.Context, pool TxPool, options pgx.TxOptions) (*inTx, error) {
	e := owner.From(ctx)
	switch {
	case e == nil:
		return nil, fmt.Errorf("%w: InTx works in an activity that has a policy, with that activity's context", owner.ErrNotDeduplicated)
	case pool == nil, reflect.ValueOf(pool).Kind() == reflect.Pointer && reflect.ValueOf(pool).IsNil():
		return nil, errors.New("dedupe: pgstore: InTx: the pool is nil")
	case options.AccessMode == pgx.ReadOnly:
		return nil, errors.New("dedupe: pgstore: InTx: TxOptions.AccessMode is read-only, but the record is written")
	}
	s, ok := store.As[*Store](e.Store())
	if !ok {
		return nil, fmt.Errorf("dedupe: pgstore: InTx: the records are in a %T, not in Postgres: give Options.Store what pgstore.New returns", e.Store())
	}
	if err := s.requireOpen("in tx"); err != nil {
		return nil, err
	}
	t, err := e.Begin()
	if err != nil {
		return nil, err
	}
	return &inTx{s: s, pool: pool, options: options, t: t, lease: t.Lease()}, nil
}

// run does all of it. into is where a result goes that somebody else has recorded.
func (x *inTx) run(ctx context.Context, into any, fn func(pgx.Tx) (any, error)) error {
	tx, found, err := x.lock(ctx)
	if err != nil {
		x.t.RolledBack()
		return x.lockError(ctx, err)
	}
	if found.Token != x.lease.Token || found.Status != store.StatusInProgress {
		x.rollBack(ctx, tx)
		x.t.RolledBack()
		return x.beaten(ctx, found, into)
	}
	defer func() {
		if !x.over { // a panic, which goes on, or runtime.Goexit: in fn, or in the user's converters
			x.undo(ctx, tx)
		}
	}()
	guarded := &guardedTx{Tx: tx}
	result, err := fn(guarded)
	if err == nil {
		err = guarded.fault()
	}
	if err != nil {
		x.undo(ctx, tx)
		return x.bodyError(err)
	}
	return x.complete(ctx, tx, result, into)
}

// beaten answers for a record that has another owner, or that somebody outside has
// settled: with its result, if it has one for this call.
func (x *inTx) beaten(ctx context.Context, found store.Record, into any) error {
	answered, err := x.t.Answer(ctx, found, into)
	if err == nil && !answered {
		err = x.t.Lost()
	}
	return err
}

// bodyError gives an error of fn the form in which the activity side knows it.
func (x *inTx) bodyError(err error) error {
	if concurrent(err) {
		return x.t.Serialization(err)
	}
	return err
}

// concurrent tells whether a transaction lost against another one.
func concurrent(err error) bool {
	code := sqlState(err)
	return code == codeSerialization || code == codeDeadlock
}
