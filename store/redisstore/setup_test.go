package redisstore_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localredis"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localredis/localredistest"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/redisstore"
)

// patient leaves time for a busy machine.
var patient = redisstore.Options{Durable: true, CallTimeout: time.Minute}

// bundle is a server and a store in it.
type bundle struct {
	server *localredis.Server
	client *redis.Client
	store  *redisstore.Store
}

func setup(t testing.TB, o redisstore.Options, settings map[string]string) bundle {
	t.Helper()
	b := bundle{server: localredistest.RequireServer(t, localredis.Options{Settings: settings})}
	b.client = localredistest.RequireClient(t, b.server)
	b.store = requireStore(t, b.client, o)
	return b
}

// setupClock makes a bundle whose server has a clock that can be moved.
func setupClock(t testing.TB) (bundle, *localredistest.Clock) {
	t.Helper()
	server, clock := localredistest.RequireClock(t, localredis.Options{})
	b := bundle{server: server, client: localredistest.RequireClient(t, server)}
	b.store = requireStore(t, b.client, patient)
	return b, clock
}

func requireStore(t testing.TB, client redis.UniversalClient, o redisstore.Options) *redisstore.Store {
	t.Helper()
	s, err := redisstore.New(t.Context(), client, o)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// reservation asks for a new call of the given key; each change is applied to it.
func reservation(key string, changes ...func(*store.Reservation)) store.Reservation {
	r := store.Reservation{
		Key: key, Hashes: []string{"v1:s1:aaaa"}, Token: store.NewToken(),
		Lease: time.Minute, Retention: time.Hour, Policy: store.Reexecute,
		Origin: store.Origin{Lineage: "run-1", Invocation: "run-1/5/1", ActivityType: "ChargePayment"},
	}
	for _, change := range changes {
		change(&r)
	}
	return r
}

func policy(p store.TakeoverPolicy) func(*store.Reservation) {
	return func(r *store.Reservation) { r.Policy = p }
}

// again asks for the same call as r, as a new execution.
func again(r store.Reservation) store.Reservation {
	r.Token = store.NewToken()
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

// apply settles and requires that it was carried out.
func apply(t testing.TB, s store.Store, settlements ...store.Settlement) {
	t.Helper()
	settled, err := s.Settle(t.Context(), settlements)
	require.NoError(t, err)
	for i := range settled {
		require.Equal(t, store.SettledApplied, settled[i])
	}
}

func claim(t testing.TB, s store.Store, r store.Reservation) store.Claimed {
	t.Helper()
	c, err := store.Claim(t.Context(), s, r)
	require.NoError(t, err)
	return c
}
