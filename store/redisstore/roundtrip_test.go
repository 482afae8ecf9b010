package redisstore_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localredis"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localredis/localredistest"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// turns counts how often a client began to talk after it had listened.
type turns struct {
	n      atomic.Int64
	spoken atomic.Bool
}

// watched is a connection whose turns are counted.
type watched struct {
	net.Conn
	turns *turns
}

// Write begins a turn unless one has begun.
func (w watched) Write(b []byte) (int, error) {
	if !w.turns.spoken.Swap(true) {
		w.turns.n.Add(1)
	}
	return w.Conn.Write(b)
}

// Read ends the turn when something came back.
func (w watched) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	if n > 0 {
		w.turns.spoken.Store(false)
	}
	return n, err
}

func TestRoundTrips(t *testing.T) {
	t.Parallel()
	var count turns
	server := localredistest.RequireServer(t, localredis.Options{})
	client := localredistest.RequireClient(t, server, func(o *redis.Options) {
		o.PoolSize = 1
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			return watched{conn, &count}, err
		}
	})
	s := requireStore(t, client, patient)
	require.NoError(t, walk(t.Context(), s, "warm", nil)) // the server knows the scripts then

	measured := map[string]int64{}
	measure := func(name string, f func()) {
		before := count.n.Load()
		f()
		measured[name] = count.n.Load() - before
	}
	claiming := func(name string, want store.Action, r store.Reservation) {
		measure(name, func() { require.Equal(t, want, claim(t, s, r).Action) })
	}
	r := reservation("k")
	claiming("a new key", store.ActAcquire, r)
	claiming("a wait", store.ActWait, again(r))
	apply(t, s, settlement(r, store.Settlement{Outcome: store.OutcomeRelease, EffectPossible: true}))
	next := again(r)
	claiming("a takeover", store.ActAcquire, next)
	measure("a renewal", func() {
		_, err := s.Renew(t.Context(), []store.Lease{leaseOf(next), leaseOf(r)})
		require.ErrorIs(t, err, store.ErrInvalidArgument, "the same key twice")
		_, err = s.Renew(t.Context(), []store.Lease{leaseOf(next), leaseOf(reservation("absent"))})
		require.NoError(t, err)
	})
	measure("a completion", func() { apply(t, s, complete(next, "paid")) })
	claiming("a replay", store.ActReplay, again(r))
	measure("an eviction", func() {
		_, err := s.Evict(t.Context(), 10)
		require.NoError(t, err)
	})
	require.Equal(t, map[string]int64{
		"a new key": 1, "a replay": 1, "a wait": 1, "a takeover": 2, "a renewal": 1, "a completion": 1, "an eviction": 0,
	}, measured)
}
