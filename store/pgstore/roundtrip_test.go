package pgstore_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
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

func (c *turns) watch(config *pgxpool.Config) {
	dial := config.ConnConfig.DialFunc
	config.MaxConns = 1
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	config.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		return watched{conn, c}, err
	}
}

func TestRoundTrips(t *testing.T) {
	t.Parallel()
	url := requireMigrated(t)
	for _, mode := range execModes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			var count turns
			pool := requirePool(t, url, execMode(mode), count.watch)
			s := requireStore(t, wrapped{pool}, pgstore.Options{})
			everyStatement(t, s, reservation(mode.String()+"warm"))

			each := int64(1)
			if mode == pgx.QueryExecModeDescribeExec {
				each = 2 // it asks for the types first, every time
			}
			require.Equal(t, map[string]int64{
				"a new key": each, "a replay": each, "a retry's replay": each, "a retry without a record": 2 * each, "a wait": each, "a takeover": 2 * each, "a renewal": each, "a completion": each,
			}, roundTrips(t, s, &count, mode.String()))
		})
	}
}

func roundTrips(t *testing.T, s store.Store, count *turns, key string) map[string]int64 {
	t.Helper()
	measured := map[string]int64{}
	measure := func(name string, f func()) {
		before := count.n.Load()
		f()
		measured[name] = count.n.Load() - before
	}
	claim := func(name string, want store.Action, r store.Reservation) {
		measure(name, func() {
			c, err := store.Claim(t.Context(), s, r)
			require.NoError(t, err)
			require.Equal(t, want, c.Action)
		})
	}
	r := reservation(key)
	claim("a new key", store.ActAcquire, r)
	claim("a wait", store.ActWait, again(r))
	settle(t, s, settlement(r, store.Settlement{Outcome: store.OutcomeRelease, EffectPossible: true}))
	next := again(r)
	claim("a takeover", store.ActAcquire, next)
	measure("a renewal", func() {
		_, err := s.Renew(t.Context(), []store.Lease{leaseOf(next)})
		require.NoError(t, err)
	})
	measure("a completion", func() { settle(t, s, complete(next, "paid")) })
	claim("a replay", store.ActReplay, again(r))
	claim("a retry's replay", store.ActReplay, retryOf(r))
	claim("a retry without a record", store.ActAcquire, retryOf(reservation(key+" absent")))
	return measured
}
