package redisstore_test

import (
	"context"
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

// requireRefused requires that New fails with an error of the kind and the text.
func requireRefused(t *testing.T, client redis.UniversalClient, o redisstore.Options, kind error, text string) {
	t.Helper()
	s, err := redisstore.New(t.Context(), client, o)
	require.Nil(t, s)
	require.Error(t, err)
	require.True(t, strings.HasPrefix(err.Error(), "dedupe: "), err)
	require.ErrorContains(t, err, text)
	if kind != nil {
		require.ErrorIs(t, err, kind)
	}
}

func unconnected(t *testing.T, addr string) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: addr, Password: "hunter2"})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()

	t.Run("no client", func(t *testing.T) {
		t.Parallel()
		requireRefused(t, nil, redisstore.Options{}, nil, "the client is nil")
	})
	t.Run("a nil client of a type", func(t *testing.T) {
		t.Parallel()
		var client *redis.Client
		requireRefused(t, client, redisstore.Options{}, nil, "nil *redis.Client")
	})
	t.Run("a ring, which looks for a record on another server while its own is down", func(t *testing.T) {
		t.Parallel()
		ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
		t.Cleanup(func() { _ = ring.Close() })
		requireRefused(t, ring, redisstore.Options{}, nil, "*redis.Ring")
	})
	for text, options := range map[string]redisstore.Options{
		"KeyPrefix: 65 bytes":           {KeyPrefix: strings.Repeat("x", 65)},
		"KeyPrefix: has braces":         {KeyPrefix: "{a}"},
		"CallTimeout is negative: -1ns": {CallTimeout: -1},
		"CallTimeout: below one mill":   {CallTimeout: time.Microsecond},
	} {
		t.Run("the option "+text, func(t *testing.T) {
			t.Parallel()
			requireRefused(t, unconnected(t, "127.0.0.1:1"), options, nil, "Options."+text)
		})
	}
	t.Run("a port where nobody listens, without the password", func(t *testing.T) {
		t.Parallel()
		_, err := redisstore.New(t.Context(), unconnected(t, "127.0.0.1:1"), redisstore.Options{})
		require.ErrorIs(t, err, store.ErrUnavailable)
		require.ErrorContains(t, err, "connection refused")
		require.NotContains(t, err.Error(), "hunter2")
	})
	t.Run("a server that never answers, in time, whatever the client's own timeouts", func(t *testing.T) {
		t.Parallel()
		silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		require.NoError(t, err)
		t.Cleanup(func() { _ = silent.Close() })
		client := redis.NewClient(&redis.Options{Addr: silent.Addr().String(), ReadTimeout: time.Hour})
		begun := time.Now()
		requireRefused(t, client, redisstore.Options{CallTimeout: 300 * time.Millisecond}, store.ErrUnavailable, "check: no answer within 300ms")
		require.Less(t, time.Since(begun), time.Minute)
		require.NoError(t, client.Close())
	})
	t.Run("a context that has ended", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := redisstore.New(ctx, unconnected(t, "127.0.0.1:1"), redisstore.Options{})
		require.ErrorIs(t, err, context.Canceled)
	})
	t.Run("a client that was closed", func(t *testing.T) {
		t.Parallel()
		client := unconnected(t, "127.0.0.1:1")
		require.NoError(t, client.Close())
		requireRefused(t, client, redisstore.Options{}, store.ErrUnavailable, "the client is closed")
	})
	t.Run("a wrong password, without quoting it", func(t *testing.T) {
		t.Parallel()
		s := localredistest.RequireServer(t, localredis.Options{})
		requireRefused(t, unconnected(t, s.Addr()), patient, store.ErrUnavailable, "refused the login (WRONGPASS)")
	})
	for _, evicting := range []string{"allkeys-lru", "volatile-lru", "volatile-ttl", "allkeys-random"} {
		t.Run("a server that may evict keys by "+evicting, func(t *testing.T) {
			t.Parallel()
			s := localredistest.RequireServer(t, localredis.Options{Settings: map[string]string{"maxmemory-policy": evicting}})
			requireRefused(t, localredistest.RequireClient(t, s), patient, store.ErrUnavailable, evicting)
		})
	}
	t.Run("a replica", func(t *testing.T) {
		t.Parallel()
		s := localredistest.RequireServer(t, localredis.Options{})
		client := localredistest.RequireClient(t, s)
		require.NoError(t, client.ReplicaOf(t.Context(), "127.0.0.1", "1").Err())
		requireRefused(t, client, patient, store.ErrUnavailable, "is a replica")
	})
	t.Run("a server that is too old", func(t *testing.T) {
		t.Parallel()
		client := localredistest.RequireClient(t, localredistest.RequireServer(t, localredis.Options{}))
		client.AddHook(infoSays("redis_version:7.", "redis_version:6."))
		requireRefused(t, client, patient, store.ErrUnavailable, "7.0 or later")
	})
	t.Run("a server that does not say whether it evicts", func(t *testing.T) {
		t.Parallel()
		client := localredistest.RequireClient(t, localredistest.RequireServer(t, localredis.Options{}))
		client.AddHook(infoSays("maxmemory_policy:", "other:"))
		requireRefused(t, client, patient, store.ErrUnavailable, `maxmemory-policy is ""`)
	})
	t.Run("a client of one node of a cluster", func(t *testing.T) {
		t.Parallel()
		for _, node := range localredistest.RequireCluster(t, localredis.Options{}).Nodes() {
			requireRefused(t, localredistest.RequireClient(t, node), patient, store.ErrUnavailable, "*redis.ClusterClient (MOVED)")
		}
	})
	t.Run("one primary of a cluster that may evict keys", func(t *testing.T) {
		t.Parallel()
		c := localredistest.RequireCluster(t, localredis.Options{})
		client := redis.NewClusterClient(c.ClientOptions())
		t.Cleanup(func() { _ = client.Close() })
		node := localredistest.RequireClient(t, c.Nodes()[1])
		require.NoError(t, node.ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err())
		requireRefused(t, client, patient, store.ErrUnavailable, "allkeys-lru")
	})
}

func TestCheckTouchesNoKeyThatARecordCanHave(t *testing.T) {
	t.Parallel()
	client := localredistest.RequireClient(t, localredistest.RequireServer(t, localredis.Options{}))
	var keys []string
	client.AddHook(hook(func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
		if strings.HasPrefix(cmd.Name(), "eval") {
			keys = append(keys, cmd.Args()[3].(string))
		}
		return next(ctx, cmd)
	}))
	requireStore(t, client, patient)
	require.NotEmpty(t, keys)
	for _, key := range keys {
		require.Greater(t, len(key), 64+store.MaxKeyBytes, "nor one under a longer prefix")
	}
}

// infoSays is a hook that replaces a text in the answers to INFO.
func infoSays(before, after string) redis.Hook {
	return hook(func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
		err := next(ctx, cmd)
		if answer, ok := cmd.(*redis.StringCmd); ok && cmd.Name() == "info" {
			answer.SetVal(strings.ReplaceAll(answer.Val(), before, after))
		}
		return err
	})
}
