package pgstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// wrapped is a pool that the store does not know, and therefore shares.
type wrapped struct{ *pgxpool.Pool }

func single(c *pgxpool.Config) { c.MaxConns = 1 }

// everyStatement runs each statement of the store once, for one key, and those that
// have another form for several also for two.
func everyStatement(t *testing.T, s store.Store, r store.Reservation) {
	t.Helper()
	insert(t, s, r)
	_, err := s.Renew(t.Context(), []store.Lease{leaseOf(r)})
	require.NoError(t, err)
	settle(t, s, settlement(r, store.Settlement{Outcome: store.OutcomeRelease}))
	next := again(r)
	got, err := s.Acquire(t.Context(), []store.Acquisition{
		{Reservation: next, SeenToken: r.Token, SeenStatus: store.StatusInProgress},
	})
	require.NoError(t, err)
	require.True(t, got[0].OK)
	settle(t, s, complete(next, "paid"))
	require.Equal(t, []byte("paid"), get(t, s, r).Result)

	pair := []store.Reservation{reservation(r.Key + "1"), reservation(r.Key + "2")}
	insert(t, s, pair...)
	settle(t, s, complete(pair[0], "paid"), complete(pair[1], "paid"))
	found, err := s.Reserve(t.Context(), []store.Reservation{retryOf(pair[0]), retryOf(pair[1])})
	require.NoError(t, err)
	require.Equal(t, store.StatusCompleted, found[1].Record.Status)
}

// requireNoScan fails if a statement reads a table from end to end that was empty
// when the statement was first planned, and vacuumed, and has grown since.
func requireNoScan(t *testing.T, as func(*pgxpool.Pool) pgstore.Pool) {
	t.Helper()
	pool := requirePool(t, requireMigrated(t), single)
	s := requireStore(t, as(pool), pgstore.Options{CallTimeout: time.Minute})
	execute(t, pool, `ALTER TABLE idempotency_records SET (autovacuum_enabled = false)`)
	insert(t, s, reservation("seed"))
	execute(t, pool, `VACUUM ANALYZE idempotency_records`)
	for i := range 10 {
		everyStatement(t, s, reservation(string(rune('a'+i))))
	}
	execute(t, pool, `INSERT INTO idempotency_records SELECT (jsonb_populate_record(r, jsonb_build_object('key', 'x' || n))).*
		FROM idempotency_records r, generate_series(1, 20000) n WHERE r.key = 'seed'`)
	read := func() int {
		execute(t, pool, `SELECT pg_stat_force_next_flush()`)
		return value[int](t, pool, `SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'idempotency_records'`)
	}
	before := read()
	for i := range 10 {
		everyStatement(t, s, reservation(string(rune('A'+i))))
	}
	_, err := s.Evict(t.Context(), 100)
	require.NoError(t, err)
	s.Close() // its sessions report what they have read when they end
	require.Eventually(t, func() bool {
		return value[int](t, pool, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND backend_type = 'client backend'`) == 1
	}, 20*time.Second, 5*time.Millisecond)
	require.Equal(t, before, read(), "the table was read from end to end")
}

func TestPlans(t *testing.T) {
	t.Parallel()

	for name, as := range map[string]func(*pgxpool.Pool) pgstore.Pool{
		"of a shared pool are made for the table as it is": func(p *pgxpool.Pool) pgstore.Pool { return wrapped{p} },
		"of the store's own pool fit a table of any size":  func(p *pgxpool.Pool) pgstore.Pool { return p },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireNoScan(t, as)
		})
	}

	t.Run("of what is counted after each eviction read an index, without statistics too", func(t *testing.T) {
		t.Parallel()
		pool := requirePool(t, requireMigrated(t), single)
		s := requireStore(t, pool, pgstore.Options{CallTimeout: time.Minute})
		execute(t, pool, `ALTER TABLE idempotency_records SET (autovacuum_enabled = false)`)
		insert(t, s, reservation("seed"))
		execute(t, pool, `INSERT INTO idempotency_records SELECT (jsonb_populate_record(r, jsonb_build_object('key', 'x' || n))).*
			FROM idempotency_records r, generate_series(1, 20000) n WHERE r.key = 'seed'`)
		read := func() int {
			execute(t, pool, `SELECT pg_stat_force_next_flush()`)
			return value[int](t, pool, `SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'idempotency_records'`)
		}
		before := read()
		held, err := s.CountHeld(t.Context())
		require.NoError(t, err)
		require.Zero(t, held)
		require.Equal(t, before, read(), "the table was read from end to end")
	})

	t.Run("are kept in the store's own sessions, and the caller's stay as they were", func(t *testing.T) {
		t.Parallel()
		modes := make(chan string, 10)
		pool := requirePool(t, requireMigrated(t), func(c *pgxpool.Config) {
			c.BeforeClose = func(conn *pgx.Conn) {
				var mode string
				_ = conn.QueryRow(context.Background(), `SELECT current_setting('plan_cache_mode')`).Scan(&mode)
				modes <- mode
			}
		})
		s := requireStore(t, pool, pgstore.Options{})
		everyStatement(t, s, reservation("a"))
		s.Close()
		require.Equal(t, "force_generic_plan", <-modes)
		pool.Close()
		close(modes)
		var last string
		for mode := range modes {
			last = mode
		}
		require.Equal(t, "auto", last, "the caller's")
	})

	t.Run("let a completion touch no index", func(t *testing.T) {
		t.Parallel()
		pool := requirePool(t, requireMigrated(t), single)
		s := requireStore(t, wrapped{pool}, pgstore.Options{})
		const n = 200
		rs := make([]store.Reservation, n)
		ss := make([]store.Settlement, n)
		for i := range rs {
			rs[i] = reservation(string(rune('a'+i%26)) + time.Duration(i).String())
			ss[i] = complete(rs[i], "paid, with a result of some length, as a payload has it")
		}
		insert(t, s, rs...)
		settle(t, s, ss...)
		execute(t, pool, `SELECT pg_stat_force_next_flush()`)
		require.Equal(t, n, value[int](t, pool, `SELECT n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'idempotency_records'`))
		require.Equal(t, n, value[int](t, pool, `SELECT n_tup_upd FROM pg_stat_user_tables WHERE relname = 'idempotency_records'`))
	})
}
