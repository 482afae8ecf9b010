package pgstore_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// wrapped is a pool that the store does not know, and therefore shares.
type wrapped struct{ *pgxpool.Pool }

func single(c *pgxpool.Config) { c.MaxConns = 1 }

// everyStatement runs each statement of the store once, for one key.
func everyStatement(t *testing.T, s store.Store, r store.Reservation) {
	t.Helper()
	insert(t, s, r)
	_, err := s.Renew(t.Context(), []store.Lease{leaseOf(r)})
	require.NoError(t, err)
	settle(t, s, settlement(r, store.Settlement{Outcome: store.Release}))
	next := again(r)
	got, err := s.Acquire(t.Context(), []store.Acquisition{
		{Reservation: next, SeenToken: r.Token, SeenStatus: store.InProgress},
	})
	require.NoError(t, err)
	require.True(t, got[0].OK)
	settle(t, s, complete(next, "paid"))
	require.Equal(t, []byte("paid"), get(t, s, r).Result)
}

func TestPlans(t *testing.T) {
	t.Parallel()

	t.Run("are made for the table as it is, not as it was", func(t *testing.T) {
		t.Parallel()
		pool := requirePool(t, requireMigrated(t), single)
		s := requireStore(t, wrapped{pool}, pgstore.Options{CallTimeout: time.Minute})
		execute(t, pool, `ALTER TABLE idempotency_records SET (autovacuum_enabled = false)`)
		insert(t, s, reservation("seed"))
		execute(t, pool, `VACUUM ANALYZE idempotency_records`)
		for i := range 10 {
			everyStatement(t, s, reservation(string(rune('a'+i))))
		}
		require.Zero(t, value[int](t, pool, `SELECT coalesce(sum(generic_plans), 0) FROM pg_prepared_statements
			WHERE statement LIKE '%idempotency_records%' AND statement NOT LIKE '%pg_prepared_statements%'`), "cached plans")

		execute(t, pool, `INSERT INTO idempotency_records SELECT (jsonb_populate_record(r, jsonb_build_object('key', 'x' || n))).*
			FROM idempotency_records r, generate_series(1, 20000) n WHERE r.key = 'seed'`)
		scans := func() int {
			execute(t, pool, `SELECT pg_stat_force_next_flush()`)
			return value[int](t, pool, `SELECT seq_scan FROM pg_stat_user_tables WHERE relname = 'idempotency_records'`)
		}
		before := scans()
		for i := range 10 {
			everyStatement(t, s, reservation(string(rune('A'+i))))
		}
		_, err := s.Evict(t.Context(), 100)
		require.NoError(t, err)
		require.Equal(t, before, scans(), "the table was read from end to end")
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
