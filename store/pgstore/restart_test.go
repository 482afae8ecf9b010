package pgstore_test

import (
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
		insert(t, s, owned, released, held)
		settle(t, s, store.Settlement{Key: released.Key, Token: released.Token, Outcome: store.Release, EffectPossible: true})
		// As if the outage had lasted for longer than the lease.
		execute(t, pool, `UPDATE idempotency_records SET lease_expires_at = clock_timestamp() - interval '1 second' WHERE key <> 'released'`)
		claim := func(key string) store.Action {
			claimed, err := store.Claim(t.Context(), s, reservation(key))
			require.NoError(t, err)
			return claimed.Action
		}

		cluster.Kill()
		require.NoError(t, cluster.Restart(t.Context()))
		require.Equal(t, store.ActWait, claim("owned"))
		got, err := s.Acquire(t.Context(), []store.Acquisition{{
			Reservation: again(owned), SeenToken: owned.Token, SeenStatus: store.InProgress,
		}})
		require.NoError(t, err)
		require.False(t, got[0].OK, "whoever decided before the restart")
		renewed, err := s.Renew(t.Context(), []store.Lease{{Key: owned.Key, Token: owned.Token, Duration: time.Minute}})
		require.NoError(t, err)
		require.Equal(t, []store.Renewal{store.Renewed}, renewed)
		require.Equal(t, store.ActAcquire, claim("released"), "what was given up needs no protection")

		require.Equal(t, store.ActWait, claim("held"))
		settle(t, s, settlement(held, store.Settlement{Outcome: store.Hold, OwnLease: true}))
		require.Equal(t, store.ActUnknown, claim("held"), "its owner has ended the lease")
		renewed, err = s.Renew(t.Context(), []store.Lease{leaseOf(held)})
		require.NoError(t, err)
		require.Equal(t, []store.Renewal{store.Lost}, renewed)
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
