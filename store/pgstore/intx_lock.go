package pgstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// lock begins the transaction with a lock on the record, and answers the record. A
// savepoint follows, to which failures go back. Under a strict isolation level a
// renewal at the same moment fails the lock; nothing has happened by then, so that it
// is tried again.
func (x *inTx) lock(ctx context.Context) (tx pgx.Tx, found store.Record, err error) {
	type locked struct {
		tx    pgx.Tx
		found store.Record
	}
	got, err := retried(ctx, concurrent, func(ctx context.Context) (locked, error) {
		tx, err := x.pool.BeginTx(ctx, x.options)
		if err != nil {
			return locked{}, err
		}
		record, err := x.s.lockRecord(ctx, tx, x.s.callersSQL.lock, x.lease.Key, "idle_in_transaction_session_timeout", x.lease.Duration)
		if err == nil {
			_, err = tx.Exec(ctx, savepointSQL)
		}
		if err != nil {
			x.rollBack(ctx, tx)
			return locked{}, err
		}
		return locked{tx, record}, nil
	})
	return got.tx, got.found, err
}

// lockRecord locks a record for the rest of the transaction, with a timeout set for
// as long, and reads it.
func (s *Store) lockRecord(ctx context.Context, pool Pool, sql, key, setting string, timeout time.Duration) (record store.Record, err error) {
	found := false
	args := []any{[]string{key}, setting, fmt.Sprintf("%dms", max(timeout.Milliseconds(), 1))}
	err = query(ctx, pool, sql, args, func(rows pgx.Rows) error {
		found = true
		record, err = scanRecord(rows)
		return err
	})
	if err == nil && !found {
		err = fmt.Errorf("%w: key %q", store.ErrNotFound, key)
	}
	return record, err
}

// lockError is what the body gets where the record could not be locked.
func (x *inTx) lockError(ctx context.Context, err error) error {
	const same = "InTx needs a pool of the database that has the records"
	fault := x.s.fault(ctx, "in tx", x.lease.Key, err)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return x.t.Unavailable(fmt.Errorf("dedupe: pgstore: the pool's database has no record of this call: %s: %w", same, fault))
	case errors.Is(fault, store.ErrSchema):
		return x.t.Unavailable(fmt.Errorf("dedupe: pgstore: the pool's database has no records: %s: %w", same, fault))
	case concurrent(err):
		return x.t.Serialization(fault)
	default:
		return x.t.Unavailable(fault)
	}
}

// guardedTx is the transaction as fn sees it. Only InTx ends it.
type guardedTx struct {
	pgx.Tx
	rolledBack bool
}

var errCommits = errors.New("dedupe: pgstore: InTx commits the transaction when the function returns, together with the record")

// Commit refuses.
func (g *guardedTx) Commit(context.Context) error { return errCommits }

// Rollback notes that the function thinks the transaction is over.
func (g *guardedTx) Rollback(context.Context) error {
	g.rolledBack = true
	return nil
}

// fault tells why the transaction cannot be committed although fn has returned no
// error.
func (g *guardedTx) fault() error {
	if g.rolledBack {
		return errors.New("dedupe: pgstore: the function of InTx rolled the transaction back and returned no error: " +
			"return one, and do not defer a Rollback; everything was rolled back")
	}
	switch txStatus(g.Tx) {
	case 'E':
		return errors.New("dedupe: pgstore: a statement of InTx failed and its function returned no error: return the statement's; everything was rolled back")
	case 'I':
		return errEnded
	}
	return nil
}

var errEnded = errors.New("dedupe: pgstore: the function of InTx ended the transaction by a statement of its own: what it wrote before may stand without a record")

// intact tells whether the transaction is still the one that fn was given, and can be
// committed.
func intact(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, intactSQL)
	if sqlState(err) == codeNoSavepoint {
		return errEnded
	}
	return err
}

// txStatus is the server's word about the transaction: 'T' while it is open, 'E' when
// a statement has failed in it, 'I' when it is over; 0 where there is no connection to
// ask, as under pgxmock, which panics.
func txStatus(tx pgx.Tx) (status byte) {
	defer func() { _ = recover() }()
	return tx.Conn().PgConn().TxStatus()
}
