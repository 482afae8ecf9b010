package localredis_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localredis"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localredis/localredistest"
)

func TestServer(t *testing.T) {
	t.Parallel()

	t.Run("what was written survives Kill and Restart, under the same URL", func(t *testing.T) {
		t.Parallel()
		s := localredistest.RequireServer(t, localredis.Options{})
		url, client := s.URL(), localredistest.RequireClient(t, s)
		require.NoError(t, client.Set(t.Context(), "k", "v", 0).Err())
		require.Equal(t, "always", client.ConfigGet(t.Context(), "appendfsync").Val()["appendfsync"],
			"everysec answers before it writes while an earlier write is on its way to the disk")
		s.Kill()
		s.Kill()
		require.Error(t, client.Ping(t.Context()).Err())
		require.NoError(t, s.Restart(t.Context()))
		require.Equal(t, url, s.URL())
		require.Equal(t, "v", client.Get(t.Context(), "k").Val())
	})

	t.Run("Stop removes the data, may be repeated, and is final", func(t *testing.T) {
		t.Parallel()
		s := localredistest.RequireServer(t, localredis.Options{})
		dir := localredistest.RequireClient(t, s).ConfigGet(t.Context(), "dir").Val()["dir"]
		require.DirExists(t, dir)
		require.NoError(t, s.Stop())
		require.NoError(t, s.Stop())
		require.NoDirExists(t, dir)
		require.ErrorContains(t, s.Restart(t.Context()), "stopped for good")
	})

	t.Run("nobody gets in without the password", func(t *testing.T) {
		t.Parallel()
		s := localredistest.RequireServer(t, localredis.Options{})
		client := localredistest.RequireClient(t, s, func(o *redis.Options) { o.Password = "" })
		require.ErrorContains(t, client.Ping(t.Context()).Err(), "NOAUTH")
	})

	t.Run("settings reach the server", func(t *testing.T) {
		t.Parallel()
		s := localredistest.RequireServer(t, localredis.Options{Settings: map[string]string{"maxmemory": "64mb"}})
		require.Equal(t, "67108864", localredistest.RequireClient(t, s).ConfigGet(t.Context(), "maxmemory").Val()["maxmemory"])
	})
}

func TestCluster(t *testing.T) {
	t.Parallel()
	t.Run("three nodes share the keys", func(t *testing.T) {
		t.Parallel()
		c := localredistest.RequireCluster(t, localredis.Options{})
		client := redis.NewClusterClient(c.ClientOptions())
		defer func() { require.NoError(t, client.Close()) }()
		shards, err := client.ClusterShards(t.Context()).Result()
		require.NoError(t, err)
		require.Len(t, shards, 3)
		for _, shard := range shards {
			require.NotEmpty(t, shard.Slots)
		}
		for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
			require.NoError(t, client.Set(t.Context(), key, key, 0).Err())
		}
		require.NoError(t, c.Stop())
		require.NoError(t, c.Stop())
	})
}

func TestStart(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options localredis.Options
		want    string
	}{
		"a program that is not there is named":     {localredis.Options{Path: "/nowhere/redis-server"}, "Options.Path"},
		"a directive that is no name is refused":   {localredis.Options{Settings: map[string]string{"a b": ""}}, `Options.Settings: "a b"`},
		"a value of two lines is refused":          {localredis.Options{Settings: map[string]string{"save": "1\nport 1"}}, "Options.Settings: the value of save"},
		"the port is the server's own":             {localredis.Options{Settings: map[string]string{"port": "1"}}, "Options.Settings: port"},
		"a timeout below zero is refused":          {localredis.Options{StartTimeout: -time.Second}, "Options.StartTimeout"},
		"what the server says of a bad value ends": {localredis.Options{Settings: map[string]string{"maxmemory": "plenty"}}, "maxmemory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.options.Path == "" {
				localredistest.RequireServer(t, localredis.Options{}) // skips where there is no Redis
			}
			_, err := localredis.Start(t.Context(), test.options)
			require.ErrorContains(t, err, test.want)
		})
	}
}
