package pgstore_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg/localpgtest"
	"github.com/seed5aa7bdf6/temporal-dedupe/migrations"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

func TestRestart(t *testing.T) {
	t.Parallel()

	t.Run("owners come first after the server was down for longer than their lease", func(t *testing.T) {
		t.Parallel()
		cluster := localpgtest.RequireCluster(t, localpg.Options{})
		url, err := cluster.Database(t.Context(), "")
		require.NoError(t, err)
		_, err = migrations.Up(t.Context(), url, migrations.Options{})
		require.NoError(t, err)
		pool, err := pgxpool.New(t.Context(), url)
		require.NoError(t, err)
		t.Cleanup(pool.Close)
		s := requireStore(t, pool, pgstore.Options{CallTimeout: 20 * time.Second})
		owned, released, held := reservation("owned"), reservation("released"), underPolicy("held", store.Refuse)
		dead, back := underPolicy("dead", store.Refuse), underPolicy("back", store.Refuse)
		insert(t, s, owned, released, held, dead, back)
		settle(t, s, store.Settlement{Key: released.Key, Token: released.Token, Outcome: store.OutcomeRelease, EffectPossible: true})
		// As if the outage had lasted for longer than the lease.
		execute(t, pool, `UPDATE idempotency_records SET lease_expires_at = clock_timestamp() - interval '1 second' WHERE key <> 'released'`)
		claim := func(key string) store.Action {
			claimed, err := store.Claim(t.Context(), s, reservation(key))
			require.NoError(t, err)
			return claimed.Action
		}

		execute(t, pool, `UPDATE idempotency_records SET held_since = lease_expires_at + CASE key
			WHEN 'dead' THEN interval '1 ms' ELSE interval '-1 ms' END WHERE key IN ('dead', 'back')`)

		cluster.Kill()
		require.NoError(t, cluster.Restart(t.Context()))
		require.Equal(t, store.ActWait, claim("owned"))
		got, err := s.Acquire(t.Context(), []store.Acquisition{{
			Reservation: again(owned), SeenToken: owned.Token, SeenStatus: store.StatusInProgress,
		}})
		require.NoError(t, err)
		require.False(t, got[0].OK, "whoever decided before the restart")
		renewed, err := s.Renew(t.Context(), []store.Lease{{Key: owned.Key, Token: owned.Token, Duration: time.Minute}})
		require.NoError(t, err)
		require.Equal(t, []store.Renewal{store.LeaseRenewed}, renewed)
		require.Equal(t, store.ActAcquire, claim("released"), "what was given up needs no protection")
		require.Equal(t, store.ActUnknown, claim("dead"), "its owner had not come back before somebody held it")
		require.Equal(t, store.ActWait, claim("back"), "its owner came back afterwards")

		require.Equal(t, store.ActWait, claim("held"))
		settle(t, s, settlement(held, store.Settlement{Outcome: store.OutcomeHold, OwnLease: true}))
		require.Equal(t, store.ActUnknown, claim("held"), "its owner has ended the lease")
		renewed, err = s.Renew(t.Context(), []store.Lease{leaseOf(held)})
		require.NoError(t, err)
		require.Equal(t, []store.Renewal{store.LeaseLost}, renewed)
	})

	t.Run("a start by a clock that was set back since keeps no lease alive", func(t *testing.T) {
		t.Parallel()
		b, advance := setupClock(t)
		advance(-24 * time.Hour)
		r := reservation("abandoned")
		insert(t, b.store, r)
		require.LessOrEqual(t, get(t, b.store, r).LeaseLeft, r.Lease)
		advance(2 * r.Lease)
		claimed, err := store.Claim(t.Context(), b.store, again(r))
		require.NoError(t, err)
		require.Equal(t, store.ActAcquire, claimed.Action)
	})
}

// longUp makes a database whose server's process seems to be up since long ago.
func longUp(t *testing.T) (link string, pool *pgxpool.Pool) {
	t.Helper()
	cluster := localpgtest.RequireCluster(t, localpg.Options{})
	link, err := cluster.Database(t.Context(), "")
	require.NoError(t, err)
	_, err = migrations.Up(t.Context(), link, migrations.Options{})
	require.NoError(t, err)
	pool = requirePool(t, link, shiftable)
	execute(t, pool, clockSchema+`; CREATE FUNCTION clock.pg_postmaster_start_time() RETURNS timestamptz
		LANGUAGE sql AS $$ SELECT timestamptz '2001-01-01' $$`)
	execute(t, pool, `UPDATE idempotency_server SET up_since = '2001-01-01'`)
	return link, pool
}

// abandon reserves calls whose leases are over, unless their owners come first.
func abandon(t *testing.T, b bundle, rs ...store.Reservation) {
	t.Helper()
	insert(t, b.store, rs...)
	execute(t, b.pool, `UPDATE idempotency_records SET lease_expires_at = clock_timestamp() - interval '1 second',
		expires_at = clock_timestamp() - interval '1 second'`)
}

// requireOwnerFirst requires that a call's owner may renew before it is overtaken.
func requireOwnerFirst(t *testing.T, s store.Store, r store.Reservation) {
	t.Helper()
	claimed, err := store.Claim(t.Context(), s, again(r))
	require.NoError(t, err)
	require.Equal(t, store.ActWait, claimed.Action)
	require.InDelta(t, r.Lease, claimed.Found.LeaseLeft, float64(r.Lease)/2)
	renewed, err := s.Renew(t.Context(), []store.Lease{leaseOf(r)})
	require.NoError(t, err)
	require.Equal(t, []store.Renewal{store.LeaseRenewed}, renewed)
}

func TestOwnersComeFirstAlthoughTheProcessGoesOn(t *testing.T) {
	t.Parallel()

	t.Run("where one backend has crashed", func(t *testing.T) {
		t.Parallel()
		b := bundle{}
		b.url, b.pool = longUp(t)
		b.store = requireStore(t, b.pool, pgstore.Options{CallTimeout: 30 * time.Second})
		r := reservation("owned")
		abandon(t, b, r)
		require.Equal(t, store.ActAcquire, b.decide(t, r))
		require.NoError(t, syscall.Kill(value[int](t, b.pool, `SELECT pg_backend_pid()`), syscall.SIGKILL))
		require.Eventually(t, func() bool { // the others are ended a little later
			var noted int
			return b.pool.QueryRow(t.Context(), `SELECT count(*) FROM idempotency_server`).Scan(&noted) == nil && noted == 0
		}, time.Minute, 10*time.Millisecond)
		requireOwnerFirst(t, b.store, r)
	})

	t.Run("where a standby takes over", func(t *testing.T) {
		t.Parallel()
		link, pool := longUp(t)
		r := reservation("owned")
		abandon(t, bundle{pool: pool, store: requireStore(t, pool, pgstore.Options{})}, r)
		b := bundle{url: localpgtest.RequireStandby(t, link)}
		b.pool = requirePool(t, b.url, shiftable)
		require.Eventually(t, func() bool { // it is asynchronous
			return value[int](t, b.pool, `SELECT count(*) FROM idempotency_records WHERE lease_expires_at < clock_timestamp()`) == 1
		}, time.Minute, 10*time.Millisecond)

		reader := bundle{store: requireStore(t, b.pool, pgstore.Options{ReadOnly: true})}
		require.Negative(t, get(t, reader.store, r).LeaseLeft)
		require.Equal(t, r.Key, reader.look(t, r.Key).Key)
		held, err := reader.store.Admin().List(t.Context(), store.Query{PastLease: true, Limit: 10})
		require.NoError(t, err)
		require.Len(t, held, 1)
		_, err = reader.store.Admin().Stats(t.Context(), store.StatsOptions{})
		require.NoError(t, err)

		execute(t, b.pool, `SELECT pg_promote()`)
		requireOwnerFirst(t, requireStore(t, b.pool, pgstore.Options{}), r)
	})
}

// A server that starts after a crash has emptied the table.
func TestWhoFindsNobodyHasNotedTheServersStart(t *testing.T) {
	t.Parallel()
	_, pool := longUp(t)
	b := bundle{pool: pool, store: requireStore(t, pool, pgstore.Options{})}
	noted := func() int { return value[int](t, pool, `SELECT count(*) FROM idempotency_server`) }
	for name, try := range map[string]func(*testing.T, store.Reservation){
		"takes no call over": func(t *testing.T, r store.Reservation) {
			found := get(t, b.store, r)
			got, err := b.store.Acquire(t.Context(), []store.Acquisition{{
				Reservation: again(r), SeenToken: found.Token, SeenStatus: found.Status,
			}})
			require.NoError(t, err)
			require.False(t, got[0].OK)
		},
		"holds none": func(t *testing.T, r store.Reservation) {
			require.Equal(t, []store.Settled{store.SettledStale}, settle(t, b.store, settlement(r, store.Settlement{Outcome: store.OutcomeHold})))
		},
		"removes none": func(t *testing.T, _ store.Reservation) {
			removed, err := b.store.Evict(t.Context(), 10)
			require.NoError(t, err)
			require.Zero(t, removed)
		},
		"gives no operator a free hand": func(t *testing.T, r store.Reservation) {
			require.Equal(t, store.ResolvedLive, b.resolve(t, b.change(t, r.Key, store.VerbRelease)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := reservation("owned")
			abandon(t, b, r)
			execute(t, pool, `TRUNCATE idempotency_server`)
			try(t, r)
			require.Equal(t, 1, noted())
			requireOwnerFirst(t, b.store, r)

			execute(t, pool, `UPDATE idempotency_server SET up_since = up_since - interval '1 hour'`)
			execute(t, pool, `UPDATE idempotency_records SET lease_expires_at = clock_timestamp() - interval '1 second'`)
			require.Equal(t, store.ActAcquire, b.decide(t, r), "the grace is over")
			execute(t, pool, `UPDATE idempotency_server SET up_since = up_since + interval '2 hours'`)
			claimed, err := store.Claim(t.Context(), b.store, again(r))
			require.NoError(t, err)
			require.Equal(t, store.ActAcquire, claimed.Action, "noted by a clock that was set back since")
			execute(t, pool, `DELETE FROM idempotency_records`)
		})
	}
}
