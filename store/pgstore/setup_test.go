package pgstore_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg/localpgtest"
	"github.com/seed5aa7bdf6/temporal-dedupe/migrations"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// bundle is a migrated database and a store in it.
type bundle struct {
	url   string
	pool  *pgxpool.Pool
	store *pgstore.Store
}

// setup makes a bundle; each change is applied to the pool's configuration.
func setup(t testing.TB, options pgstore.Options, changes ...func(*pgxpool.Config)) bundle {
	t.Helper()
	b := bundle{url: requireMigrated(t)}
	b.pool = requirePool(t, b.url, changes...)
	b.store = requireStore(t, b.pool, options)
	return b
}

// requireMigrated returns the URL of a database with the tables.
func requireMigrated(t testing.TB) string {
	t.Helper()
	url := localpgtest.RequireDatabase(t)
	_, err := migrations.Up(t.Context(), url, migrations.Options{})
	require.NoError(t, err)
	return url
}

func requirePool(t testing.TB, url string, changes ...func(*pgxpool.Config)) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(url)
	require.NoError(t, err)
	for _, change := range changes {
		change(config)
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

func requireStore(t testing.TB, pool pgstore.Pool, options pgstore.Options) *pgstore.Store {
	t.Helper()
	s, err := pgstore.New(t.Context(), pool, options)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

func execute(t testing.TB, pool pgstore.Pool, sql string, args ...any) {
	t.Helper()
	_, err := pool.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

// clockSchema is a schema with a clock of its own, which runs, and which a test
// can move.
const clockSchema = `
CREATE SCHEMA clock;
CREATE TABLE clock.shift (by interval NOT NULL);
INSERT INTO clock.shift VALUES ('0');
CREATE FUNCTION clock.clock_timestamp() RETURNS timestamptz LANGUAGE plpgsql VOLATILE AS
$$ BEGIN RETURN pg_catalog.clock_timestamp() + (SELECT by FROM clock.shift); END $$`

// shiftable makes a pool's connections read the clock of clockSchema.
func shiftable(c *pgxpool.Config) {
	c.ConnConfig.RuntimeParams["search_path"] = "clock, pg_catalog, public"
}

// setupClock makes a bundle whose database has a clock that advance moves.
func setupClock(t testing.TB, changes ...func(*pgxpool.Config)) (b bundle, advance func(time.Duration)) {
	t.Helper()
	b.url = requireMigrated(t)
	plain := requirePool(t, b.url)
	execute(t, plain, clockSchema)
	b.pool = requirePool(t, b.url, append(changes, shiftable)...)
	b.store = requireStore(t, b.pool, pgstore.Options{CallTimeout: 30 * time.Second})
	var shift atomic.Int64
	b.store.SetNow(func() time.Time { return time.Now().Add(time.Duration(shift.Load())) })
	return b, func(d time.Duration) {
		shift.Add(int64(d))
		_, err := plain.Exec(context.WithoutCancel(t.Context()),
			`UPDATE clock.shift SET by = by + $1::bigint * interval '1 microsecond'`, d.Microseconds())
		require.NoError(t, err)
	}
}

// reservation asks for a new call of the given key.
func reservation(key string) store.Reservation {
	return store.Reservation{
		Key: key, Hashes: []string{"v1:s1:aaaa"}, Token: store.NewToken(),
		Lease: time.Minute, Retention: time.Hour, Policy: store.Reexecute,
		Origin: store.Origin{Lineage: "run-1", Invocation: "run-1/5/1", ActivityType: "ChargePayment"},
	}
}

// again asks for the same call as r, as a new execution.
func again(r store.Reservation) store.Reservation {
	r.Token = store.NewToken()
	return r
}

// retryOf asks for the same call as r, as Temporal's retry of it.
func retryOf(r store.Reservation) store.Reservation {
	r = again(r)
	r.Attempt = 2
	return r
}

func leaseOf(r store.Reservation) store.Lease {
	return store.Lease{Key: r.Key, Token: r.Token, Duration: r.Lease}
}

func settlement(r store.Reservation, s store.Settlement) store.Settlement {
	s.Key, s.Token = r.Key, r.Token
	return s
}

func complete(r store.Reservation, result string) store.Settlement {
	return settlement(r, store.Settlement{Outcome: store.OutcomeComplete, Result: []byte(result)})
}

// insert reserves keys that must be new.
func insert(t testing.TB, s store.Store, rs ...store.Reservation) {
	t.Helper()
	found, err := s.Reserve(t.Context(), rs)
	require.NoError(t, err)
	for i := range rs {
		require.True(t, found[i].Inserted, rs[i].Key)
	}
}

func settle(t testing.TB, s store.Store, settlements ...store.Settlement) []store.Settled {
	t.Helper()
	settled, err := s.Settle(t.Context(), settlements)
	require.NoError(t, err)
	return settled
}

func get(t testing.TB, s store.Store, r store.Reservation) store.Record {
	t.Helper()
	record, err := s.Get(t.Context(), r.Key)
	require.NoError(t, err)
	return record
}

// value reads one value.
func value[T any](t testing.TB, pool *pgxpool.Pool, sql string, args ...any) (v T) {
	t.Helper()
	require.NoError(t, pool.QueryRow(t.Context(), sql, args...).Scan(&v))
	return v
}
