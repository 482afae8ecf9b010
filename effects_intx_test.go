package dedupe_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	dedupe "github.com/seed5aa7bdf6/temporal-dedupe"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/memstore"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// ledger is a bundle whose records stand beside a table of transfers.
type ledger struct {
	*bundle
	pool     *pgxpool.Pool
	attempts atomic.Int32
}

func setupLedger(t *testing.T) *ledger {
	t.Helper()
	l := &ledger{bundle: setup(t)}
	l.pool = l.inPostgres()
	_, err := l.pool.Exec(t.Context(), `CREATE TABLE transfers (id text NOT NULL)`)
	require.NoError(t, err)
	return l
}

// transfer writes one row together with the record.
func (l *ledger) transfer(ctx context.Context) (string, error) {
	return pgstore.InTx(ctx, l.pool, func(tx pgx.Tx) (string, error) {
		_, err := tx.Exec(ctx, `INSERT INTO transfers (id) VALUES ('t1')`)
		return "transferred", err
	})
}

// transfers counts what was written.
func (l *ledger) transfers() (n int) {
	l.t.Helper()
	require.NoError(l.t, l.pool.QueryRow(l.t.Context(), `SELECT count(*) FROM transfers`).Scan(&n))
	return n
}

// record returns the one record that there is.
func (l *ledger) record() store.Record {
	l.t.Helper()
	var key string
	require.NoError(l.t, l.pool.QueryRow(l.t.Context(), `SELECT key FROM idempotency_records`).Scan(&key))
	r, err := l.store.Get(l.t.Context(), key)
	require.NoError(l.t, err)
	return r
}

func TestInTx(t *testing.T) {
	t.Parallel()

	// The body goes on after the commit; what it makes of it changes nothing.
	for name, end := range map[string]func(attempt int32, result string) (string, error){
		"its result":  func(_ int32, result string) (string, error) { return result, nil },
		"another one": func(int32, string) (string, error) { return "something else", nil },
		"an error":    func(int32, string) (string, error) { return "", errAfterEffect },
		"a final error": func(int32, string) (string, error) {
			return "", temporal.NewNonRetryableApplicationError("no", "No", nil)
		},
		"its handing over":     func(int32, string) (string, error) { return "", sdkactivity.ErrResultPending },
		"a panic, and a retry": func(int32, string) (string, error) { panic("boom") },
	} {
		t.Run("what it recorded is the answer, whatever the body returns: "+name, func(t *testing.T) {
			t.Parallel()
			l := setupLedger(t)
			var lost atomic.Bool
			result, err := l.performs(l.client(l.plugin()), regularly, func(ctx context.Context) (string, error) {
				defer context.AfterFunc(ctx, func() { lost.Store(errors.Is(context.Cause(ctx), dedupe.ErrLeaseLost)) })()
				result, err := l.transfer(ctx)
				require.NoError(t, err)
				_, err = l.transfer(ctx)
				require.ErrorContains(t, err, "InTx was called before in this execution")
				_, err = dedupe.Do(ctx, "mail", func(context.Context) (int, error) { panic("must not run") })
				require.ErrorContains(t, err, "InTx has recorded the result")
				return end(l.attempts.Add(1), result)
			})
			require.NoError(t, err)
			require.Equal(t, "transferred", result)
			require.EqualValues(t, 1, l.attempts.Load())
			require.Equal(t, 1, l.transfers())
			require.False(t, lost.Load())
		})
	}

	t.Run("it is the same in a local activity", func(t *testing.T) {
		t.Parallel()
		l := setupLedger(t)
		result, err := l.performs(l.client(l.plugin()), locally, func(ctx context.Context) (string, error) {
			if l.attempts.Add(1) == 1 {
				return "", errAfterEffect
			}
			_, err := l.transfer(ctx)
			return "something else", err
		})
		require.NoError(t, err)
		require.Equal(t, "transferred", result)
		require.Equal(t, 1, l.transfers())
	})

	t.Run("a failure before the commit leaves nothing, and the retry does it all", func(t *testing.T) {
		t.Parallel()
		l := setupLedger(t)
		result, err := l.performs(l.client(l.plugin()), regularly, func(ctx context.Context) (string, error) {
			_, err := dedupe.Do(ctx, "price", func(context.Context) (int, error) { return 7, nil })
			require.NoError(t, err)
			return pgstore.InTx(ctx, l.pool, func(tx pgx.Tx) (string, error) {
				_, err := dedupe.Do(ctx, "mail", func(context.Context) (int, error) { panic("must not run") })
				require.ErrorContains(t, err, "a transaction of InTx is open")
				if _, err := tx.Exec(ctx, `INSERT INTO transfers (id) VALUES ('t1')`); err != nil {
					return "", err
				}
				if l.attempts.Add(1) == 1 {
					return "", errAfterEffect
				}
				return "transferred", nil
			})
		})
		require.NoError(t, err)
		require.Equal(t, "transferred", result)
		require.EqualValues(t, 2, l.attempts.Load())
		require.Equal(t, 1, l.transfers())
	})

	t.Run("a serialization failure is tried again, and recorded nowhere", func(t *testing.T) {
		t.Parallel()
		l := setupLedger(t)
		var between store.Record
		result, err := l.performs(l.client(l.plugin()), regularly, func(ctx context.Context) (string, error) {
			switch l.attempts.Add(1) {
			case 1:
				_, err := pgstore.InTxWith(ctx, l.pool, pgx.TxOptions{IsoLevel: pgx.Serializable}, func(pgx.Tx) (string, error) {
					return "", &pgconn.PgError{Code: "40001", Message: "could not serialize access"}
				})
				return "", errors.Join(errAfterEffect, err) // wrapped as authors do
			default:
				between = l.record()
				return l.transfer(ctx)
			}
		})
		require.NoError(t, err)
		require.Equal(t, "transferred", result)
		require.Equal(t, store.StatusInProgress, between.Status)
		require.Nil(t, between.Failure)
		require.Equal(t, 2, between.Acquisitions)
	})

	t.Run("under Refuse a failed transaction is an outcome that nobody knows, unless its author does", func(t *testing.T) {
		t.Parallel()
		for _, knows := range []bool{true, false} {
			l := setupLedger(t)
			_, err := l.performs(l.client(l.plugin(dedupe.Policy{Takeover: dedupe.Refuse})), regularly, func(ctx context.Context) (string, error) {
				if l.attempts.Add(1) > 1 {
					return l.transfer(ctx)
				}
				_, err := pgstore.InTx(ctx, l.pool, func(pgx.Tx) (string, error) { return "", &pgconn.PgError{Code: "40P01"} })
				if knows {
					err = dedupe.NoEffect(err)
				}
				return "", err
			})
			if knows {
				require.NoError(t, err)
				require.Equal(t, 1, l.transfers())
			} else {
				requireErrType(t, err, dedupe.ErrTypeOutcomeUnknown)
				require.Zero(t, l.transfers())
			}
		}
	})

	t.Run("a result over the limit is rolled back and final", func(t *testing.T) {
		t.Parallel()
		l := setupLedger(t)
		_, err := l.performs(l.client(l.plugin(dedupe.Policy{MaxResultBytes: 1000})), regularly, func(ctx context.Context) (string, error) {
			l.attempts.Add(1)
			return pgstore.InTx(ctx, l.pool, func(tx pgx.Tx) (string, error) {
				_, err := tx.Exec(ctx, `INSERT INTO transfers (id) VALUES ('t1')`)
				return strings.Repeat("x", 2000), err
			})
		})
		require.True(t, requireErrType(t, err, dedupe.ErrTypeResultTooLarge).NonRetryable())
		require.Zero(t, l.transfers())
		require.EqualValues(t, 1, l.attempts.Load())
	})

	t.Run("a result that is not final is committed, and the call can run again", func(t *testing.T) {
		t.Parallel()
		l := setupLedger(t)
		policy := dedupe.Policy{IsFinal: func(result any) bool { return result != "not yet" }}
		result, err := l.performs(l.client(l.plugin(policy)), regularly, func(ctx context.Context) (string, error) {
			result, err := pgstore.InTx(ctx, l.pool, func(tx pgx.Tx) (string, error) {
				_, err := tx.Exec(ctx, `INSERT INTO transfers (id) VALUES ('t1')`)
				return "not yet", err
			})
			require.NoError(t, err)
			_, err = l.transfer(ctx)
			require.ErrorContains(t, err, "InTx was called before")
			return result, nil
		})
		require.NoError(t, err)
		require.Equal(t, "not yet", result)
		require.Equal(t, 1, l.transfers())
		r := l.record()
		require.Equal(t, store.StatusInProgress, r.Status)
		require.False(t, r.EffectPossible)
		require.False(t, r.LeaseLive())
	})

	t.Run("the lease is kept after a transaction that outlived it", func(t *testing.T) {
		t.Parallel()
		l := setupLedger(t)
		result, err := l.performs(l.client(l.plugin()), regularly, func(ctx context.Context) (string, error) {
			_, err := pgstore.InTx(ctx, l.pool, func(tx pgx.Tx) (string, error) {
				// Busy for longer than a lease of five seconds, so that it does not idle.
				_, err := tx.Exec(ctx, `SELECT pg_sleep(5.5)`)
				return "", errors.Join(err, errAfterEffect)
			})
			require.ErrorIs(t, err, errAfterEffect)
			require.True(t, l.record().LeaseLive())
			require.NoError(t, ctx.Err())
			return l.transfer(ctx)
		})
		require.NoError(t, err)
		require.Equal(t, "transferred", result)
		require.Equal(t, 1, l.transfers())
	})

	t.Run("it refuses to work in an effect, without a record, and with records elsewhere", func(t *testing.T) {
		t.Parallel()
		never := func(pgx.Tx) (int, error) { panic("must not run") }
		_, err := pgstore.InTx(t.Context(), (*pgxpool.Pool)(nil), never)
		require.ErrorIs(t, err, dedupe.ErrNotDeduplicated)

		l := setupLedger(t)
		_, err = l.performs(l.client(l.plugin()), regularly, func(ctx context.Context) (string, error) {
			return dedupe.Do(ctx, "transfer", func(ctx context.Context) (string, error) {
				_, err := pgstore.InTx(ctx, l.pool, never)
				require.ErrorContains(t, err, `in effect "transfer": call it outside of Do`)
				return "refused", nil
			})
		})
		require.NoError(t, err)

		l = setupLedger(t)
		memory, err := memstore.New(memstore.Options{})
		require.NoError(t, err)
		p, err := dedupe.NewPlugin(dedupe.Options{Store: memory, Policies: dedupe.Policies{"Work": {}}, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		_, err = l.performs(l.client(p), regularly, func(ctx context.Context) (string, error) {
			_, err := pgstore.InTx(ctx, l.pool, never)
			require.ErrorContains(t, err, "the records are in a *memstore.Store, not in Postgres")
			return "", nil
		})
		require.NoError(t, err)
	})

	t.Run("an owner that was overtaken writes nothing and gets its heir's result", func(t *testing.T) {
		t.Parallel()
		l := setupLedger(t)
		result, err := l.performs(l.client(l.plugin()), regularly, func(ctx context.Context) (string, error) {
			l.attempts.Add(1)
			// As if this worker had been suspended for longer than its lease.
			r := l.record()
			heir := store.Reservation{Key: r.Key, Hashes: []string{r.Hash}, Token: store.NewToken(), Lease: time.Minute, Retention: time.Hour,
				Policy: store.Reexecute, Origin: r.Origin}
			_, err := l.store.Settle(ctx, []store.Settlement{{Key: r.Key, Token: r.Token, Outcome: store.OutcomeRelease, EffectPossible: true}})
			require.NoError(t, err)
			got, err := l.store.Acquire(ctx, []store.Acquisition{{Reservation: heir, SeenToken: r.Token, SeenStatus: store.StatusInProgress}})
			require.NoError(t, err)
			require.True(t, got[0].OK)
			_, err = l.transfer(ctx)
			require.ErrorIs(t, err, dedupe.ErrLeaseLost)
			encoded := []byte("\n\x1e\n\x16\n\x08encoding\x12\njson/plain\x12\x04\"by\"")
			_, err2 := l.store.Settle(context.WithoutCancel(ctx), []store.Settlement{{Key: r.Key, Token: heir.Token, Outcome: store.OutcomeComplete, Result: encoded}})
			require.NoError(t, err2)
			return "", err
		})
		require.NoError(t, err)
		require.Equal(t, "by", result)
		require.Zero(t, l.transfers())
		require.EqualValues(t, 1, l.attempts.Load())
	})
}
