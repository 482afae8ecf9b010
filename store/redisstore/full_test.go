package redisstore_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

func TestMaxmemory(t *testing.T) {
	t.Parallel()
	b := setup(t, patient, nil)
	live, abandoned, done := reservation("live"), reservation("abandoned"), reservation("done")
	insert(t, b.store, live, abandoned, done)
	apply(t, b.store, complete(done, "paid"), settlement(abandoned, store.Settlement{Outcome: store.OutcomeRelease, EffectPossible: true}))
	require.NoError(t, b.client.ConfigSet(t.Context(), "maxmemory", "1").Err())

	t.Run("refuses new keys as a full store does, and says what to do", func(t *testing.T) {
		_, err := b.store.Reserve(t.Context(), []store.Reservation{reservation("new")})
		require.ErrorIs(t, err, store.ErrFull)
		require.ErrorContains(t, err, "maxmemory")
		var answer redis.Error
		require.ErrorAs(t, err, &answer)
		_, err = b.store.Get(t.Context(), "new")
		require.ErrorIs(t, err, store.ErrNotFound)
	})
	t.Run("says that nothing is known where other keys of the call were served", func(t *testing.T) {
		_, err := b.store.Reserve(t.Context(), []store.Reservation{again(done), reservation("new")})
		require.ErrorIs(t, err, store.ErrUnavailable)
		require.NotErrorIs(t, err, store.ErrFull)
	})
	t.Run("still answers, renews, acquires and settles what is there", func(t *testing.T) {
		require.Equal(t, store.ActReplay, claim(t, b.store, again(done)).Action)
		require.Equal(t, store.ActAcquire, claim(t, b.store, again(abandoned)).Action)
		renewed, err := b.store.Renew(t.Context(), []store.Lease{leaseOf(live)})
		require.NoError(t, err)
		require.Equal(t, []store.Renewal{store.LeaseRenewed}, renewed)
		apply(t, b.store, complete(live, "paid"))
		require.Equal(t, store.ActReplay, claim(t, b.store, again(live)).Action)
		require.NoError(t, b.store.Check(t.Context()))
	})
}
