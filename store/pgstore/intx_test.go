package pgstore_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/owner"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

const insertTransfer = `INSERT INTO transfers (id) VALUES ('t1')`

// transfer is a function for InTx that writes one row.
func transfer(ctx context.Context) func(pgx.Tx) (string, error) {
	return func(tx pgx.Tx) (string, error) {
		_, err := tx.Exec(ctx, insertTransfer)
		return "receipt", err
	}
}

func never(pgx.Tx) (string, error) { panic("must not run") }

var errDeclined = errors.New("declined")

// decorator is a decorator of a store.
type decorator struct{ store.Store }

func (d decorator) Unwrap() store.Store { return d.Store }

func TestInTx(t *testing.T) {
	t.Parallel()

	t.Run("commits the writes and the record together", func(t *testing.T) {
		t.Parallel()
		b, r, e := setupTx(t)
		e.store = decorator{b.store}
		got, err := pgstore.InTx(e.context(t), b.pool, func(tx pgx.Tx) (string, error) {
			require.Equal(t, store.StatusInProgress, get(t, b.store, r).Status, "the record is locked, and not changed")
			renewed, err := b.store.Renew(t.Context(), []store.Lease{e.lease})
			require.NoError(t, err)
			require.Equal(t, []store.Renewal{store.LeaseLocked}, renewed, "which is not lost")
			return transfer(t.Context())(tx)
		})
		require.NoError(t, err)
		require.Equal(t, "receipt", got)
		require.Equal(t, 1, b.transfers(t))
		record := get(t, b.store, r)
		require.Equal(t, store.StatusCompleted, record.Status)
		require.Equal(t, `"receipt"`, string(record.Result))
		require.False(t, record.EffectPossible)
		require.Equal(t, []string{"committing", "committed"}, e.notes)
		require.Equal(t, []store.Settled{store.SettledApplied}, settle(t, b.store, complete(r, `"receipt"`)), "settled once more, it stands")
	})

	for name, c := range map[string]struct {
		fn   func(context.Context, pgx.Tx) (string, error)
		want string
	}{
		"an error": {func(ctx context.Context, tx pgx.Tx) (string, error) {
			_, err := transfer(ctx)(tx)
			return "", errors.Join(errDeclined, err)
		}, "declined"},
		"a statement that failed, and no error": {func(ctx context.Context, tx pgx.Tx) (string, error) {
			_, _ = transfer(ctx)(tx)
			_, _ = tx.Exec(ctx, `SELECT no_such_column`)
			return "receipt", nil
		}, "a statement of InTx failed and its function returned no error"},
		"a rollback of its own, and no error": {func(ctx context.Context, tx pgx.Tx) (string, error) {
			defer func() { _ = tx.Rollback(ctx) }()
			return transfer(ctx)(tx)
		}, "do not defer a Rollback"},
		"a commit of its own": {func(ctx context.Context, tx pgx.Tx) (string, error) {
			_, err := transfer(ctx)(tx)
			return "", errors.Join(err, tx.Commit(ctx))
		}, "InTx commits the transaction when the function returns"},
	} {
		t.Run("rolls back after "+name, func(t *testing.T) {
			t.Parallel()
			b, r, e := setupTx(t)
			_, err := pgstore.InTx(e.context(t), b.pool, func(tx pgx.Tx) (string, error) { return c.fn(t.Context(), tx) })
			require.ErrorContains(t, err, c.want)
			b.requireOwned(t, r)
			require.Equal(t, []string{"rolled back"}, e.notes)
			got, err := pgstore.InTx(e.context(t), b.pool, transfer(t.Context()))
			require.NoError(t, err, "and can be tried again")
			require.Equal(t, "receipt", got)
		})
	}

	t.Run("rolls back after a panic, which goes on, and after runtime.Goexit", func(t *testing.T) {
		t.Parallel()
		b, r, e := setupTx(t)
		require.PanicsWithValue(t, "boom", func() {
			_, _ = pgstore.InTx(e.context(t), b.pool, func(tx pgx.Tx) (string, error) {
				_, _ = transfer(t.Context())(tx)
				panic("boom")
			})
		})
		b.requireOwned(t, r)
		require.PanicsWithValue(t, "no JSON", func() {
			_, _ = pgstore.InTx(e.context(t), b.pool, func(tx pgx.Tx) (unencodable, error) {
				_, err := transfer(t.Context())(tx)
				return unencodable{}, err
			})
		}, "by the user's converter")
		b.requireOwned(t, r)
		ended := make(chan struct{})
		ctx := e.context(t)
		go func() {
			defer close(ended)
			_, _ = pgstore.InTx(ctx, b.pool, func(tx pgx.Tx) (string, error) {
				_, _ = transfer(ctx)(tx)
				runtime.Goexit()
				return "", nil
			})
		}()
		<-ended
		b.requireOwned(t, r)
		require.Zero(t, b.pool.Stat().AcquiredConns())
	})

	t.Run("commits although the activity was cancelled when the function had done its work", func(t *testing.T) {
		t.Parallel()
		b, r, e := setupTx(t)
		ctx, cancel := context.WithCancel(e.context(t))
		got, err := pgstore.InTx(ctx, b.pool, func(tx pgx.Tx) (string, error) {
			defer cancel()
			return transfer(t.Context())(tx)
		})
		require.NoError(t, err)
		require.Equal(t, "receipt", got)
		require.Equal(t, 1, b.transfers(t))
		require.Equal(t, store.StatusCompleted, get(t, b.store, r).Status)
	})

	t.Run("rolls back a result that cannot be recorded, and commits one that is not final", func(t *testing.T) {
		t.Parallel()
		b, r, e := setupTx(t)
		e.encode = errDeclined
		_, err := pgstore.InTx(e.context(t), b.pool, transfer(t.Context()))
		require.ErrorIs(t, err, errDeclined)
		b.requireOwned(t, r)

		e.encode, e.unfinal = nil, true
		_, err = pgstore.InTx(e.context(t), b.pool, transfer(t.Context()))
		require.NoError(t, err)
		require.Equal(t, 1, b.transfers(t))
		require.Equal(t, store.StatusInProgress, get(t, b.store, r).Status)
		require.Equal(t, []string{"rolled back", "committed"}, e.notes)
	})

	for _, end := range []string{`COMMIT`, `COMMIT AND CHAIN`, `COMMIT; BEGIN`, `ROLLBACK AND CHAIN`} {
		t.Run("a transaction that ended itself by "+end+" is told from one that stands", func(t *testing.T) {
			t.Parallel()
			b, r, e := setupTx(t)
			_, err := pgstore.InTx(e.context(t), b.pool, func(tx pgx.Tx) (string, error) {
				_, err := transfer(t.Context())(tx)
				require.NoError(t, err)
				_, err = tx.Exec(t.Context(), end)
				return "receipt", err
			})
			require.ErrorContains(t, err, "may stand without a record")
			require.Equal(t, store.StatusInProgress, get(t, b.store, r).Status)
			require.Equal(t, []string{"rolled back"}, e.notes)
		})
	}

	t.Run("a deferred constraint fails while there is a way back", func(t *testing.T) {
		t.Parallel()
		b, r, e := setupTx(t)
		execute(t, b.pool, `ALTER TABLE transfers ADD UNIQUE (id) DEFERRABLE INITIALLY DEFERRED`)
		_, err := pgstore.InTx(e.context(t), b.pool, func(tx pgx.Tx) (string, error) {
			_, err := transfer(t.Context())(tx)
			require.NoError(t, err)
			return transfer(t.Context())(tx)
		})
		var violation *pgconn.PgError
		require.ErrorAs(t, err, &violation)
		require.Equal(t, "23505", violation.Code)
		b.requireOwned(t, r)
		require.Equal(t, []string{"rolled back"}, e.notes, "it was not committing")
	})

	t.Run("needs an execution, its store in Postgres, and a pool that can write", func(t *testing.T) {
		t.Parallel()
		b, _, e := setupTx(t)
		_, err := pgstore.InTx(t.Context(), b.pool, never)
		require.ErrorIs(t, err, owner.ErrNotDeduplicated)
		_, err = pgstore.InTx(e.context(t), (*pgxpool.Pool)(nil), never)
		require.ErrorContains(t, err, "the pool is nil")
		_, err = pgstore.InTxWith(e.context(t), b.pool, pgx.TxOptions{AccessMode: pgx.ReadOnly}, never)
		require.ErrorContains(t, err, "TxOptions.AccessMode")
		e.refuses = errDeclined
		_, err = pgstore.InTx(e.context(t), b.pool, never)
		require.ErrorIs(t, err, errDeclined)
		e.refuses, e.store = nil, other{b.store}
		_, err = pgstore.InTx(e.context(t), b.pool, never)
		require.ErrorContains(t, err, "the records are in a pgstore_test.other, not in Postgres")
		e.store = b.store
		b.store.Close()
		_, err = pgstore.InTx(e.context(t), b.pool, never)
		require.ErrorIs(t, err, store.ErrClosed)
		require.Empty(t, e.notes)
	})

	t.Run("needs the database of the records", func(t *testing.T) {
		t.Parallel()
		_, _, e := setupTx(t)
		empty := requirePool(t, requireMigrated(t))
		_, err := pgstore.InTx(e.context(t), empty, never)
		require.ErrorIs(t, err, errUnavailable)
		require.ErrorContains(t, err, "the pool's database has no record of this call")
		execute(t, empty, `DROP TABLE idempotency_records`)
		_, err = pgstore.InTx(e.context(t), empty, never)
		require.ErrorContains(t, err, "the pool's database has no records")
		require.ErrorContains(t, err, "InTx needs a pool of the database that has the records")
	})

	t.Run("works with one connection, while the lease is renewed and other records are settled", func(t *testing.T) {
		t.Parallel()
		b, _, e := setupTx(t, func(c *pgxpool.Config) { c.MaxConns = 1 })
		neighbour := reservation("order-43")
		insert(t, b.store, neighbour)
		_, err := pgstore.InTx(e.context(t), b.pool, func(tx pgx.Tx) (string, error) {
			_, err := b.store.Renew(t.Context(), []store.Lease{e.lease, leaseOf(neighbour)})
			require.NoError(t, err)
			require.Equal(t, []store.Settled{store.SettledApplied}, settle(t, b.store, complete(neighbour, "1")))
			return transfer(t.Context())(tx)
		})
		require.NoError(t, err)
		require.Equal(t, 1, b.transfers(t))
	})

	t.Run("a transaction that idles for longer than the lease is ended by the server", func(t *testing.T) {
		t.Parallel()
		b, r, e := setupTx(t)
		e.lease.Duration = 200 * time.Millisecond
		_, err := pgstore.InTx(e.context(t), b.pool, func(tx pgx.Tx) (string, error) {
			require.Equal(t, "200ms", func() (v string) {
				require.NoError(t, tx.QueryRow(t.Context(), `SHOW idle_in_transaction_session_timeout`).Scan(&v))
				return v
			}())
			_, err := transfer(t.Context())(tx)
			require.NoError(t, err)
			pid := tx.Conn().PgConn().PID()
			require.Eventually(t, func() bool {
				return value[int](t, b.pool, `SELECT count(*) FROM pg_stat_activity WHERE pid = $1`, pid) == 0
			}, 20*time.Second, 10*time.Millisecond)
			return "receipt", nil
		})
		require.ErrorIs(t, err, errUnavailable)
		require.Zero(t, b.transfers(t))
		require.Equal(t, r.Token, get(t, b.store, r).Token)
		require.Equal(t, []string{"rolled back"}, e.notes)
	})
}

// unencodable is a result whose converter panics.
type unencodable struct{}

func (unencodable) MarshalJSON() ([]byte, error) { panic("no JSON") }

// other is a store that does not say what it decorates.
type other struct{ store.Store }
