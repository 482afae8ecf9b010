package redisstore_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localredis"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localredis/localredistest"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/redisstore"
)

// What the documentation says of a failover, done: it is why Refuse and Verify
// need somebody's word.
func TestFailover(t *testing.T) {
	t.Parallel()
	primary, replica := localredistest.RequireServer(t, localredis.Options{}), localredistest.RequireServer(t, localredis.Options{})
	before, after := localredistest.RequireClient(t, primary), localredistest.RequireClient(t, replica)
	s := requireStore(t, before, redisstore.Options{CallTimeout: time.Minute})
	follow(t, before, after)
	kept, lost := reservation("kept"), reservation("lost")
	insert(t, s, kept)
	apply(t, s, complete(kept, "paid"))
	require.EqualValues(t, 1, before.Wait(t.Context(), 1, time.Minute).Val())

	t.Run("a replica is no place for a store", func(t *testing.T) {
		requireRefused(t, after, patient, store.ErrUnavailable, "is a replica")
	})
	// The replica is promoted while the old primary still answers.
	require.NoError(t, after.ReplicaOf(t.Context(), "NO", "ONE").Err())
	insert(t, s, lost)
	apply(t, s, complete(lost, "paid"))
	promoted := requireStore(t, after, redisstore.Options{CallTimeout: time.Minute})

	t.Run("what the new primary had is replayed", func(t *testing.T) {
		require.Equal(t, store.ActReplay, claim(t, promoted, again(kept)).Action)
	})
	t.Run("what it did not have is run again", func(t *testing.T) {
		require.Equal(t, store.ActReplay, claim(t, s, again(lost)).Action)
		require.Equal(t, store.ActAcquire, claim(t, promoted, again(lost)).Action)
	})
	t.Run("a store on the old primary says so when it has become a replica", func(t *testing.T) {
		follow(t, after, before)
		require.ErrorContains(t, s.Check(t.Context()), "is a replica")
		_, err := s.Reserve(t.Context(), []store.Reservation{reservation("new")})
		require.ErrorIs(t, err, store.ErrUnavailable)
		require.ErrorContains(t, err, "connect to the primary (READONLY)")
	})
}

// follow makes one server the replica of another and waits until it has its data.
func follow(t *testing.T, primary, replica *redis.Client) {
	t.Helper()
	o := primary.Options()
	host, port, err := net.SplitHostPort(o.Addr)
	require.NoError(t, err)
	require.NoError(t, primary.ConfigSet(t.Context(), "repl-diskless-sync-delay", "0").Err())
	require.NoError(t, replica.ConfigSet(t.Context(), "masterauth", o.Password).Err())
	require.NoError(t, replica.ReplicaOf(t.Context(), host, port).Err())
	require.Eventually(t, func() bool {
		info, err := replica.Info(t.Context(), "replication").Result()
		return err == nil && strings.Contains(info, "master_link_status:up")
	}, time.Minute, 20*time.Millisecond)
}
