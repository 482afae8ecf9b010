package localredistest

import (
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/child/childtest"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localredis"
)

// RequireServer returns a server that the test has for itself. Without Redis on
// this machine the test is skipped, or fails when CI is "true" or
// DEDUPE_REQUIRE_SERVICES is "1"; any other trouble fails it.
func RequireServer(t testing.TB, o localredis.Options) *localredis.Server {
	t.Helper()
	s, err := localredis.Start(t.Context(), o)
	requireStarted(t, err)
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// RequireCluster returns a cluster that the test has for itself. It skips and
// fails as RequireServer does.
func RequireCluster(t testing.TB, o localredis.Options) *localredis.Cluster {
	t.Helper()
	c, err := localredis.StartCluster(t.Context(), o)
	requireStarted(t, err)
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// RequireClient returns a client of the server, with changes to its options.
func RequireClient(t testing.TB, s *localredis.Server, changes ...func(*redis.Options)) *redis.Client {
	t.Helper()
	o, err := redis.ParseURL(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range changes {
		change(o)
	}
	client := redis.NewClient(o)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func requireStarted(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, localredis.ErrNoRedis) {
		childtest.SkipOrFail(t, err)
	}
	if err != nil {
		t.Fatal(err)
	}
}
