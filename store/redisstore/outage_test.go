package redisstore_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localredis"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localredis/localredistest"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/redisstore"
)

func TestRestart(t *testing.T) {
	t.Parallel()

	t.Run("owners come first after the server was down for longer than their lease", func(t *testing.T) {
		t.Parallel()
		b, clock := setupClock(t)
		owned, released := reservation("owned"), reservation("released")
		insert(t, b.store, owned, released)
		apply(t, b.store, settlement(released, store.Settlement{Outcome: store.OutcomeRelease, EffectPossible: true}))

		b.server.Kill()
		clock.Advance(2 * time.Minute)
		_, err := b.store.Get(t.Context(), "owned")
		require.ErrorIs(t, err, store.ErrUnavailable)
		require.NoError(t, b.server.Restart(t.Context()))
		require.Equal(t, store.ActWait, claim(t, b.store, again(owned)).Action)
		got, err := b.store.Acquire(t.Context(), []store.Acquisition{{
			Reservation: again(owned), SeenToken: owned.Token, SeenStatus: store.StatusInProgress,
		}})
		require.NoError(t, err)
		require.False(t, got[0].OK)
		renewed, err := b.store.Renew(t.Context(), []store.Lease{leaseOf(owned)})
		require.NoError(t, err)
		require.Equal(t, []store.Renewal{store.LeaseRenewed}, renewed)
		require.Equal(t, store.ActAcquire, claim(t, b.store, again(released)).Action, "what was given up needs no protection")
	})
	t.Run("an owner that does not come back is taken over a lease later", func(t *testing.T) {
		t.Parallel()
		b, clock := setupClock(t)
		r := reservation("k")
		insert(t, b.store, r)
		b.server.Kill()
		clock.Advance(2 * time.Minute)
		require.NoError(t, b.server.Restart(t.Context()))
		require.Equal(t, store.ActWait, claim(t, b.store, again(r)).Action)
		clock.Advance(time.Minute + 2*time.Second) // the server counts its age in seconds
		require.Equal(t, store.ActAcquire, claim(t, b.store, again(r)).Action)
	})
	t.Run("a server whose clock was set back behind its start works, and protects nobody longer", func(t *testing.T) {
		t.Parallel()
		b, clock := setupClock(t)
		clock.Advance(-time.Hour)
		abandoned, late := reservation("abandoned"), reservation("late")
		insert(t, b.store, abandoned, late)
		clock.Advance(2 * time.Minute)
		require.NoError(t, b.store.Check(t.Context()))
		apply(t, b.store, complete(late, "paid"))
		require.Equal(t, store.ActAcquire, claim(t, b.store, again(abandoned)).Action)
	})
}

func TestScriptsThatTheServerDoesNotKnow(t *testing.T) {
	t.Parallel()
	b := setup(t, patient, nil)
	for i, n := range []int{1, 20} {
		require.NoError(t, b.client.ScriptFlush(t.Context()).Err())
		var all []store.Reservation
		var ends []store.Settlement
		for j := range n {
			r := reservation(fmt.Sprint(i, "/", j))
			all, ends = append(all, r), append(ends, complete(r, r.Key))
		}
		insert(t, b.store, all...)
		require.NoError(t, b.client.ScriptFlush(t.Context()).Err())
		apply(t, b.store, ends...)
		require.NoError(t, b.client.ScriptFlush(t.Context()).Err())
		for _, r := range all {
			require.Equal(t, r.Key, string(claim(t, b.store, again(r)).Found.Result))
		}
	}
}

// loser is a connection that breaks when it has the next answer, when it is told so.
type loser struct {
	net.Conn
	armed *atomic.Bool
}

// Read closes the connection after an answer has come.
func (l loser) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	if n > 0 && l.armed.CompareAndSwap(true, false) {
		_ = l.Close()
		return 0, io.EOF
	}
	return n, err
}

func TestAnswersThatAreLost(t *testing.T) {
	t.Parallel()
	for name, retries := range map[string]int{"and asked for again by the client": 3, "and asked for again by the caller": -1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var armed atomic.Bool
			server := localredistest.RequireServer(t, localredis.Options{})
			client := localredistest.RequireClient(t, server, func(o *redis.Options) {
				o.MaxRetries = retries
				o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
					conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
					return loser{conn, &armed}, err
				}
			})
			s := requireStore(t, client, patient)
			lossy := func(do func() error) {
				t.Helper()
				armed.Store(true)
				err := do()
				require.False(t, armed.Load(), "nothing was lost")
				if retries < 0 {
					require.ErrorIs(t, err, store.ErrUnavailable)
					err = do()
				}
				require.NoError(t, err)
			}
			claimLossy := func(r store.Reservation) {
				t.Helper()
				claimer, err := store.NewClaimer(s, r)
				require.NoError(t, err)
				var c store.Claimed
				lossy(func() (err error) { c, err = claimer.Claim(t.Context()); return err })
				require.Equal(t, store.ActAcquire, c.Action)
				kept, err := s.Get(t.Context(), r.Key)
				require.NoError(t, err)
				require.Equal(t, r.Token, kept.Token)
			}
			settleLossy := func(x store.Settlement) {
				t.Helper()
				lossy(func() error {
					got, err := s.Settle(t.Context(), []store.Settlement{x})
					if err == nil {
						require.Equal(t, store.SettledApplied, got[0])
					}
					return err
				})
			}
			r := reservation("k")
			claimLossy(r)
			settleLossy(settlement(r, store.Settlement{Outcome: store.OutcomeRelease, NewGeneration: true}))
			next := again(r)
			claimLossy(next)
			settleLossy(complete(next, "paid"))
			kept, err := s.Get(t.Context(), r.Key)
			require.NoError(t, err)
			require.Equal(t, 1, kept.Generation)
			require.Equal(t, 2, kept.Acquisitions)
		})
	}
}

func TestCallsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	b := setup(t, patient, nil)
	// A client that would wait for an hour, and says nothing of the context to its connections.
	client := localredistest.RequireClient(t, b.server, func(o *redis.Options) { o.ReadTimeout = time.Hour })
	s := requireStore(t, client, redisstore.Options{CallTimeout: 10 * time.Second})
	short := requireStore(t, client, redisstore.Options{CallTimeout: 500 * time.Millisecond})
	require.NoError(t, b.client.Do(t.Context(), "CLIENT", "PAUSE", time.Minute.Milliseconds(), "WRITE").Err())

	t.Run("that was cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		_, err := s.Reserve(ctx, []store.Reservation{reservation("cancelled")})
		require.ErrorIs(t, err, context.Canceled)
	})
	t.Run("or with CallTimeout", func(t *testing.T) {
		_, err := short.Reserve(t.Context(), []store.Reservation{reservation("late")})
		require.ErrorIs(t, err, store.ErrUnavailable)
		require.ErrorContains(t, err, "reserve: no answer within 500ms")
	})
	require.NoError(t, b.client.Do(t.Context(), "CLIENT", "UNPAUSE").Err())
}
