package pgstore_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// over makes the retention of every record end, and every lease, also that
// which owners have after a start of the server.
const over = `UPDATE idempotency_records SET expires_at = now() - interval '1 s',
	lease_expires_at = least(lease_expires_at, now() - interval '1 s'), lease_ms = 1`

func TestEvictionReadsNoMoreThanItMust(t *testing.T) {
	t.Parallel()

	t.Run("its plan is made for the table as it is", func(t *testing.T) {
		t.Parallel()
		pool := requirePool(t, requireMigrated(t), single)
		s := requireStore(t, wrapped{pool}, pgstore.Options{CallTimeout: time.Minute})
		execute(t, pool, `ALTER TABLE idempotency_records SET (autovacuum_enabled = false)`)
		insert(t, s, reservation("seed"))
		execute(t, pool, `VACUUM ANALYZE idempotency_records`)
		evict := func() {
			for range 10 {
				_, err := s.Evict(t.Context(), 100)
				require.NoError(t, err)
			}
		}
		evict() // long enough for a plan to be cached
		execute(t, pool, `INSERT INTO idempotency_records SELECT (jsonb_populate_record(r, jsonb_build_object('key', 'x' || n))).*
			FROM idempotency_records r, generate_series(1, 20000) n WHERE r.key = 'seed'`)
		scans := func() int {
			execute(t, pool, `SELECT pg_stat_force_next_flush()`)
			return value[int](t, pool, `SELECT seq_scan FROM pg_stat_user_tables WHERE relname = 'idempotency_records'`)
		}
		before := scans()
		evict()
		require.Equal(t, before, scans(), "the table was read from end to end")
	})

	t.Run("a backlog in a table without statistics is not sorted for each batch", func(t *testing.T) {
		t.Parallel()
		pool := requirePool(t, requireMigrated(t), single)
		s := requireStore(t, wrapped{pool}, pgstore.Options{CallTimeout: time.Minute})
		execute(t, pool, `ALTER TABLE idempotency_records SET (autovacuum_enabled = false)`)
		r := reservation("done")
		insert(t, s, r)
		settle(t, s, complete(r, "paid"))
		execute(t, pool, clones, "done", 50_000)
		for range 3 {
			n, err := s.Evict(t.Context(), 1000)
			require.NoError(t, err)
			require.Equal(t, 1000, n)
		}
		execute(t, pool, `SELECT pg_stat_force_next_flush()`)
		require.Less(t, value[int](t, pool, `SELECT idx_tup_read FROM pg_stat_user_indexes
			WHERE indexrelname = 'idempotency_records_expires_at'`), 10_000)
	})

	t.Run("a batch goes on where a full one has ended, and a short answer still means that nothing is left", func(t *testing.T) {
		t.Parallel()
		b := setup(t, pgstore.Options{})
		stuck, rs := reservation("held"), []store.Reservation{reservation("1"), reservation("2"), reservation("3"), reservation("4")}
		insert(t, b.store, append(rs, stuck)...)
		for _, r := range rs {
			settle(t, b.store, complete(r, "paid"))
		}
		settle(t, b.store, settlement(stuck, store.Settlement{Outcome: store.OutcomeHold, OwnLease: true}))
		execute(t, b.pool, over)
		execute(t, b.pool, `UPDATE idempotency_records SET expires_at = now() - interval '1 hour' + key::integer * interval '1 s' WHERE key <> 'held'`)
		execute(t, b.pool, `UPDATE idempotency_records SET expires_at = now() - interval '1 day' WHERE key = 'held'`)
		evict := func(limit, want int) {
			t.Helper()
			n, err := b.store.Evict(t.Context(), limit)
			require.NoError(t, err)
			require.Equal(t, want, n)
		}
		evict(2, 2)
		execute(t, b.pool, `UPDATE idempotency_records SET held_since = NULL WHERE key = 'held'`)
		evict(3, 3) // 3 and 4, and the one before them that may go by now
		evict(3, 0)
		require.Zero(t, value[int](t, b.pool, `SELECT count(*) FROM idempotency_records`))
	})
}

// halting is a clock that stops whoever asks for the time while somebody holds
// an advisory lock: a statement can be halted after it has taken its snapshot.
const halting = `
CREATE SCHEMA clock;
CREATE FUNCTION clock.clock_timestamp() RETURNS timestamptz LANGUAGE plpgsql VOLATILE AS
$$ BEGIN PERFORM pg_advisory_xact_lock_shared(7); RETURN pg_catalog.clock_timestamp(); END $$`

func TestEvictionKeepsWhatChangedAfterItBegan(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*testing.T, store.Store, store.Reservation){
		"a record that was renewed": func(t *testing.T, s store.Store, r store.Reservation) {
			t.Helper()
			got, err := s.Renew(t.Context(), []store.Lease{leaseOf(r)})
			require.NoError(t, err)
			require.Equal(t, []store.Renewal{store.LeaseRenewed}, got)
		},
		"a record that was taken over": func(t *testing.T, s store.Store, r store.Reservation) {
			t.Helper()
			got, err := s.Acquire(t.Context(), []store.Acquisition{{Reservation: again(r), SeenToken: r.Token, SeenStatus: store.StatusInProgress}})
			require.NoError(t, err)
			require.True(t, got[0].OK)
		},
		"a record that was held": func(t *testing.T, s store.Store, r store.Reservation) {
			t.Helper()
			settle(t, s, settlement(r, store.Settlement{Outcome: store.OutcomeHold}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, pgstore.Options{CallTimeout: time.Minute})
			execute(t, b.pool, halting)
			halted := requireStore(t, requirePool(t, b.url, func(c *pgxpool.Config) {
				c.ConnConfig.RuntimeParams["search_path"] = "clock, pg_catalog, public"
			}), pgstore.Options{CallTimeout: time.Minute})
			r, other := reservation("changes"), reservation("stays")
			insert(t, b.store, r, other)
			execute(t, b.pool, over)

			halt := b.begin(t, `SELECT pg_advisory_xact_lock($1)`, 7)
			evicted := make(chan int, 1)
			go func() {
				n, _ := halted.Evict(t.Context(), 10)
				evicted <- n
			}()
			b.requireWaiting(t, 1)
			change(t, b.store, r)
			require.NoError(t, halt.Commit(t.Context()))
			require.Equal(t, 1, <-evicted)
			require.Equal(t, r.Key, get(t, b.store, r).Key)
			_, err := b.store.Get(t.Context(), other.Key)
			require.ErrorIs(t, err, store.ErrNotFound)
		})
	}
}

func TestARecordUnderEvictionIsNotRenewed(t *testing.T) {
	t.Parallel()
	b := setup(t, pgstore.Options{})
	r := reservation("a")
	insert(t, b.store, r)
	execute(t, b.pool, over)
	tx := b.begin(t, `DELETE FROM idempotency_records WHERE key = $1`, r.Key)
	got, err := b.store.Renew(t.Context(), []store.Lease{leaseOf(r)})
	require.NoError(t, err)
	require.Equal(t, []store.Renewal{store.LeaseLocked}, got, "nothing is known yet")
	require.NoError(t, tx.Commit(t.Context()))
	got, err = b.store.Renew(t.Context(), []store.Lease{leaseOf(r)})
	require.NoError(t, err)
	require.Equal(t, []store.Renewal{store.LeaseLost}, got)
}

func TestAClockThatIsAheadRemovesNothing(t *testing.T) {
	t.Parallel()
	b, advance := setupClock(t)
	r := reservation("paid")
	r.Retention = 24 * time.Hour
	insert(t, b.store, r)
	settle(t, b.store, complete(r, "receipt"))
	evicted := func() int {
		n, err := b.store.Evict(t.Context(), 10)
		require.NoError(t, err)
		return n
	}
	week := 7 * 24 * time.Hour
	b.store.SetNow(func() time.Time { return time.Now().Add(week) })
	require.Zero(t, evicted(), "this machine's alone")
	advance(week)
	b.store.SetNow(time.Now)
	require.Zero(t, evicted(), "the database's alone")
	b.store.SetNow(func() time.Time { return time.Now().Add(week) })
	require.Equal(t, 1, evicted(), "both")
}
