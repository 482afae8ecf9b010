package pgstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// complete records the result and commits, detached from the activity's
// cancellation: fn has done its work.
func (x *inTx) complete(ctx context.Context, tx pgx.Tx, result, into any) error {
	s, remember, err := x.t.Complete(ctx, result)
	if err != nil {
		x.undo(ctx, tx)
		return err
	}
	detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), x.t.Patience())
	defer cancel()
	if err := intact(detached, tx); err != nil {
		x.undo(ctx, tx)
		if errors.Is(err, errEnded) || refusedCommit(err) {
			return x.bodyError(err)
		}
		return x.t.Unavailable(x.s.fault(detached, "in tx", s.Key, err))
	}
	if remember {
		settled, err := ask(detached, tx, x.s.callersSQL.settle, settlementArgs([]store.Settlement{s}), 1, settleds)
		switch {
		case err != nil:
			x.undo(ctx, tx)
			if concurrent(err) {
				return x.t.Serialization(err)
			}
			return x.t.Unavailable(x.s.fault(detached, "in tx", s.Key, err))
		case settled[0] != store.SettledApplied: // not while the lock is ours
			x.undo(ctx, tx)
			return x.t.Lost()
		}
		x.t.Committing()
	}
	x.over = true
	err = tx.Commit(detached)
	switch {
	case err == nil:
		x.t.Committed()
		return nil
	case refusedCommit(err):
		x.renew(ctx)
		x.t.RolledBack()
		return x.bodyError(err)
	case !remember: // the record would not tell
		return x.t.Doubtful(err)
	default:
		return x.resolve(ctx, s, into, err)
	}
}

// refusedCommit tells a commit that the server has answered with no: it has rolled
// the transaction back. A session that was ended instead may have ended just after
// its commit.
func refusedCommit(err error) bool {
	var answer *pgconn.PgError
	return errors.Is(err, pgx.ErrTxCommitRollback) || errors.As(err, &answer) && answer.SeverityUnlocalized == "ERROR"
}

// resolve finds out what became of a commit without an answer. It asks for the row
// lock: once it is there, the transaction is over, one way or the other.
func (x *inTx) resolve(ctx context.Context, s store.Settlement, into any, cause error) error {
	detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), x.t.Patience())
	defer cancel()
	found, err := retried(detached, retryable, func(ctx context.Context) (store.Record, error) {
		if !x.s.settler.take(ctx) {
			return store.Record{}, ctx.Err()
		}
		defer x.s.settler.leave()
		return x.s.lockRecord(ctx, x.s.pool, x.s.sql.lock, s.Key, "lock_timeout", lockWait)
	})
	lost := fmt.Errorf("dedupe: pgstore: the commit was not answered: %s", x.s.describe(cause))
	switch {
	case err != nil:
		return x.t.Doubtful(fmt.Errorf("%w; and its record cannot be read: %s", lost, x.s.describe(err)))
	case found.Token != x.lease.Token: // which is never so after a commit
		x.t.RolledBack()
		return x.beaten(ctx, found, into)
	case found.Status == store.StatusCompleted && bytes.Equal(found.Result, s.Result):
		x.t.Committed()
		return nil
	case found.Status == store.StatusInProgress:
		x.renew(ctx)
		x.t.RolledBack()
		return x.t.Unavailable(lost)
	default: // settled from outside at that moment
		x.t.RolledBack()
		return x.beaten(ctx, found, into)
	}
}

// undo rolls the writes back and renews the lease in one commit: during a long
// transaction nobody could renew it, and the moment that the row is free a waiting
// execution would take the call over, whose owner is alive.
func (x *inTx) undo(ctx context.Context, tx pgx.Tx) {
	x.over = true
	defer x.t.RolledBack()
	detached, cancel := x.detached(ctx)
	defer cancel()
	_, err := tx.Exec(detached, backToSavepointSQL)
	if err == nil {
		_, err = ask(detached, tx, x.s.callersSQL.renew, renewalArgs([]store.Lease{x.lease}), 1, renewals)
	}
	if err == nil {
		err = tx.Commit(detached)
	}
	if err != nil {
		x.rollBack(ctx, tx)
		x.renew(ctx)
	}
}

// rollBack ends the transaction, or its connection.
func (x *inTx) rollBack(ctx context.Context, tx pgx.Tx) {
	detached, cancel := x.detached(ctx)
	defer cancel()
	_ = tx.Rollback(detached) // which closes a connection that does not answer
}

// renew makes up for renewals that the lock has kept out. Where it fails, the keeper
// of leases tries again.
func (x *inTx) renew(ctx context.Context) {
	detached, cancel := x.detached(ctx)
	defer cancel()
	_, _ = x.s.Renew(detached, []store.Lease{x.lease})
}

// endTimeout bounds what is done about a transaction that has failed.
const endTimeout = 2 * time.Second

func (x *inTx) detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), min(endTimeout, x.s.options.CallTimeout))
}
