package pgstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// begin opens a transaction that has run one statement.
func (b bundle) begin(t *testing.T, sql string, args ...any) pgx.Tx {
	t.Helper()
	tx, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) })
	tag, err := tx.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
	require.EqualValues(t, 1, tag.RowsAffected())
	return tx
}

const lockRow = `SELECT key FROM idempotency_records WHERE key = $1 FOR UPDATE`

// requireWaiting waits until n sessions of the database wait for a lock.
func (b bundle) requireWaiting(t *testing.T, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		return value[int](t, b.pool, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`) >= n
	}, 20*time.Second, 5*time.Millisecond, "nobody waits for the lock")
}

// settling settles in the background.
func settling(t *testing.T, s store.Store, settlements ...store.Settlement) <-chan []store.Settled {
	t.Helper()
	done := make(chan []store.Settled, 1)
	go func() {
		defer close(done)
		got, err := s.Settle(context.WithoutCancel(t.Context()), settlements)
		if err != nil {
			t.Errorf("settle: %v", err)
			return
		}
		done <- got
	}()
	return done
}

func TestLockedRecord(t *testing.T) {
	t.Parallel()
	patient := pgstore.Options{CallTimeout: time.Minute}

	t.Run("delays no other renewal", func(t *testing.T) {
		t.Parallel()
		b := setup(t, patient)
		rs := []store.Reservation{reservation("a"), reservation("b"), reservation("c")}
		insert(t, b.store, rs...)
		b.begin(t, lockRow, "b")
		got, err := b.store.Renew(t.Context(), []store.Lease{leaseOf(rs[2]), leaseOf(rs[1]), leaseOf(rs[0])})
		require.NoError(t, err)
		require.Equal(t, []store.Renewal{store.LeaseRenewed, store.LeaseLocked, store.LeaseRenewed}, got)
	})

	t.Run("of another owner is lost, locked or not", func(t *testing.T) {
		t.Parallel()
		b := setup(t, patient)
		r := reservation("a")
		insert(t, b.store, r)
		b.begin(t, lockRow, "a")
		got, err := b.store.Renew(t.Context(), []store.Lease{leaseOf(again(r))})
		require.NoError(t, err)
		require.Equal(t, []store.Renewal{store.LeaseLost}, got)
	})

	t.Run("delays no other settlement, and is settled when it is free", func(t *testing.T) {
		t.Parallel()
		b := setup(t, patient)
		rs := []store.Reservation{reservation("a"), reservation("b"), reservation("c")}
		insert(t, b.store, rs...)
		tx := b.begin(t, lockRow, "b")
		done := settling(t, b.store, complete(rs[0], "1"), complete(rs[1], "2"), complete(rs[2], "3"))
		b.requireWaiting(t, 1)
		require.Equal(t, store.StatusCompleted, get(t, b.store, rs[0]).Status)
		require.Equal(t, store.StatusInProgress, get(t, b.store, rs[1]).Status)
		require.Equal(t, store.StatusCompleted, get(t, b.store, rs[2]).Status)
		require.NoError(t, tx.Commit(t.Context()))
		require.Equal(t, []store.Settled{store.SettledApplied, store.SettledApplied, store.SettledApplied}, <-done)
		require.Equal(t, []byte("2"), get(t, b.store, rs[1]).Result)
	})

	t.Run("is settled as the transaction before left it", func(t *testing.T) {
		t.Parallel()
		b := setup(t, patient)
		r, heir := reservation("a"), store.NewToken()
		for name, c := range map[string]struct {
			change string
			commit bool
			token  store.Token
			want   store.Settled
		}{
			"changed":                  {`SET generation = generation + 41`, true, r.Token, store.SettledApplied},
			"changed and rolled back":  {`SET owner_token = gen_random_uuid()`, false, r.Token, store.SettledApplied},
			"acquired by another":      {`SET owner_token = gen_random_uuid()`, true, r.Token, store.SettledStale},
			"acquired by this token":   {`SET owner_token = '` + heir.String() + `'`, true, heir, store.SettledApplied},
			"settled meanwhile":        {`SET status = 'completed', effect_possible = false`, true, r.Token, store.SettledStale},
			"held, which a fail keeps": {`SET held_since = now()`, true, r.Token, store.SettledApplied},
		} {
			r := r
			r.Key = name
			insert(t, b.store, r)
			tx := b.begin(t, `UPDATE idempotency_records `+c.change+` WHERE key = $1`, r.Key)
			s := settlement(r, store.Settlement{Outcome: store.OutcomeFail, Failure: []byte("boom"), EffectPossible: true})
			s.Token = c.token
			done := settling(t, b.store, s)
			b.requireWaiting(t, 1)
			if c.commit {
				require.NoError(t, tx.Commit(t.Context()))
			} else {
				require.NoError(t, tx.Rollback(t.Context()))
			}
			require.Equal(t, []store.Settled{c.want}, <-done, name)
			record := get(t, b.store, r)
			require.Equal(t, c.want == store.SettledApplied, record.Status == store.StatusFailed, name)
			require.Equal(t, name == "held, which a fail keeps", record.Held, name)
			if name == "changed" {
				require.Equal(t, 41, record.Generation)
			}
		}
	})

	t.Run("that is deleted while its settlement waits is missing", func(t *testing.T) {
		t.Parallel()
		b := setup(t, patient)
		r := reservation("a")
		insert(t, b.store, r)
		tx := b.begin(t, `DELETE FROM idempotency_records WHERE key = $1`, "a")
		done := settling(t, b.store, complete(r, "1"))
		b.requireWaiting(t, 1)
		require.NoError(t, tx.Commit(t.Context()))
		require.Equal(t, []store.Settled{store.SettledMissing}, <-done)
	})

	t.Run("that stays locked fails its settlement in time, after the others are settled", func(t *testing.T) {
		t.Parallel()
		b := setup(t, pgstore.Options{CallTimeout: 2 * time.Second})
		rs := []store.Reservation{reservation("a"), reservation("b")}
		insert(t, b.store, rs...)
		b.begin(t, lockRow, "a")
		_, err := b.store.Settle(t.Context(), []store.Settlement{complete(rs[0], "1"), complete(rs[1], "2")})
		require.ErrorIs(t, err, store.ErrUnavailable)
		require.ErrorContains(t, err, "locked by another transaction")
		require.Equal(t, store.StatusCompleted, get(t, b.store, rs[1]).Status)
		require.Zero(t, value[int](t, b.pool, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`), "nobody goes on waiting in the server")
	})

	t.Run("is completed also where it is renewed at the same moment", func(t *testing.T) {
		t.Parallel()
		b := setup(t, patient)
		for round := range 20 {
			var rs []store.Reservation
			var leases []store.Lease
			var ends []store.Settlement
			for i := range 50 {
				r := reservation(fmt.Sprint(round, "/", i))
				rs, leases, ends = append(rs, r), append(leases, leaseOf(r)), append(ends, complete(r, r.Key))
			}
			insert(t, b.store, rs...)
			renewed := make(chan error, 1)
			go func() {
				_, err := b.store.Renew(context.WithoutCancel(t.Context()), leases)
				renewed <- err
			}()
			for _, s := range settle(t, b.store, ends...) {
				require.Equal(t, store.SettledApplied, s)
			}
			require.NoError(t, <-renewed)
		}
	})

	t.Run("leaves a connection for renewals, however many settlements wait", func(t *testing.T) {
		t.Parallel()
		b := setup(t, patient)
		rs := []store.Reservation{reservation("a"), reservation("b"), reservation("c"), reservation("d")}
		insert(t, b.store, rs...)
		var txs []pgx.Tx
		var dones []<-chan []store.Settled
		for _, r := range rs[:3] {
			txs = append(txs, b.begin(t, lockRow, r.Key))
			dones = append(dones, settling(t, b.store, complete(r, "1")))
		}
		b.requireWaiting(t, 1)
		for range 20 {
			got, err := b.store.Renew(t.Context(), []store.Lease{leaseOf(rs[3])})
			require.NoError(t, err)
			require.Equal(t, []store.Renewal{store.LeaseRenewed}, got)
		}
		for i := range txs {
			require.NoError(t, txs[i].Commit(t.Context()))
		}
		for _, done := range dones {
			require.Equal(t, []store.Settled{store.SettledApplied}, <-done)
		}
	})

	t.Run("is a miss for an acquisition", func(t *testing.T) {
		t.Parallel()
		b := setup(t, patient)
		rs := []store.Reservation{reservation("a"), reservation("b")}
		insert(t, b.store, rs...)
		for _, r := range rs {
			settle(t, b.store, settlement(r, store.Settlement{Outcome: store.OutcomeRelease}))
		}
		b.begin(t, lockRow, "a")
		got, err := b.store.Acquire(t.Context(), []store.Acquisition{
			{Reservation: again(rs[0]), SeenToken: rs[0].Token, SeenStatus: store.StatusInProgress},
			{Reservation: again(rs[1]), SeenToken: rs[1].Token, SeenStatus: store.StatusInProgress},
		})
		require.NoError(t, err)
		require.Equal(t, []store.Acquired{{}, {OK: true}}, got)
	})

	t.Run("is found by a reservation, as it was before", func(t *testing.T) {
		t.Parallel()
		b := setup(t, patient)
		r := reservation("a")
		insert(t, b.store, r)
		b.begin(t, `UPDATE idempotency_records SET owner = 'another' WHERE key = $1`, "a")
		found, err := b.store.Reserve(t.Context(), []store.Reservation{again(r), reservation("b")})
		require.NoError(t, err)
		require.True(t, found[0].Exists)
		require.Equal(t, r.Token, found[0].Record.Token)
		require.True(t, found[1].Inserted)
	})

	t.Run("is skipped by an eviction", func(t *testing.T) {
		t.Parallel()
		b := setup(t, patient)
		rs := []store.Reservation{reservation("a"), reservation("b")}
		insert(t, b.store, rs...)
		settle(t, b.store, complete(rs[0], "1"), complete(rs[1], "2"))
		execute(t, b.pool, `UPDATE idempotency_records SET expires_at = now() - interval '1 s'`)
		b.begin(t, lockRow, "a")
		n, err := b.store.Evict(t.Context(), 10)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.Equal(t, store.StatusCompleted, get(t, b.store, rs[0]).Status)
	})

	t.Run("was only looked at by an acquisition that does not fit it", func(t *testing.T) {
		t.Parallel()
		b := setup(t, patient)
		r := reservation("a")
		insert(t, b.store, r)
		xmax := func() string {
			return value[string](t, b.pool, `SELECT xmax::text || ctid::text FROM idempotency_records`)
		}
		before := xmax()
		got, err := b.store.Acquire(t.Context(), []store.Acquisition{
			{Reservation: again(r), SeenToken: r.Token, SeenStatus: store.StatusInProgress},
		})
		require.NoError(t, err)
		require.Equal(t, []store.Acquired{{}}, got)
		_, err = b.store.Reserve(t.Context(), []store.Reservation{again(r)})
		require.NoError(t, err)
		require.Equal(t, before, xmax(), "not even a row lock")
	})
}
