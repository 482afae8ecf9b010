package pgstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

func TestFullPool(t *testing.T) {
	t.Parallel()
	b := setup(t, pgstore.Options{CallTimeout: 2 * time.Second}, single)
	r := reservation("a")
	insert(t, b.store, r)
	shared := requireStore(t, wrapped{b.pool}, pgstore.Options{CallTimeout: 2 * time.Second})
	conn, err := b.pool.Acquire(t.Context())
	require.NoError(t, err)

	t.Run("does not stop a renewal", func(t *testing.T) {
		got, err := b.store.Renew(t.Context(), []store.Lease{leaseOf(r)})
		require.NoError(t, err)
		require.Equal(t, []store.Renewal{store.LeaseRenewed}, got)
	})
	t.Run("does not stop a settlement", func(t *testing.T) {
		require.Equal(t, []store.Settled{store.SettledApplied}, settle(t, b.store, complete(r, "paid")))
	})
	t.Run("does not stop a reservation", func(t *testing.T) { insert(t, b.store, reservation("b")) })
	t.Run("ends calls that share it in time", func(t *testing.T) {
		_, err := shared.Reserve(t.Context(), []store.Reservation{reservation("c")})
		require.ErrorIs(t, err, store.ErrUnavailable)
		require.ErrorContains(t, err, "no answer within 2s")
		require.NotErrorIs(t, err, context.DeadlineExceeded, "the caller's deadline is not over")
	})
	t.Run("is as good as before when it has room again", func(t *testing.T) {
		conn.Release()
		require.Equal(t, []byte("paid"), get(t, shared, r).Result)
	})
}

func TestClose(t *testing.T) {
	t.Parallel()

	t.Run("ends the store's own connections and leaves the caller's", func(t *testing.T) {
		t.Parallel()
		b := setup(t, pgstore.Options{})
		r := reservation("a")
		insert(t, b.store, r)
		settle(t, b.store, complete(r, "paid"))
		b.store.Close()
		b.store.Close()
		require.Eventually(t, func() bool {
			return value[int](t, b.pool, `SELECT count(*) FROM pg_stat_activity
				WHERE datname = current_database() AND backend_type = 'client backend'`) <= int(b.pool.Stat().TotalConns())
		}, 20*time.Second, 5*time.Millisecond, "connections are left")
		_, err := b.store.Renew(t.Context(), []store.Lease{leaseOf(r)})
		require.ErrorIs(t, err, store.ErrClosed)
		_, err = b.store.Get(t.Context(), "a")
		require.ErrorIs(t, err, store.ErrClosed)
	})

	t.Run("while calls run gives answers or says that the store is closed", func(t *testing.T) {
		t.Parallel()
		b := setup(t, pgstore.Options{})
		r := reservation("a")
		insert(t, b.store, r)
		done := make(chan error, 8)
		started := make(chan struct{}, cap(done))
		for range cap(done) {
			go func() {
				var err error
				for i := 0; err == nil; i++ {
					if i == 1 {
						started <- struct{}{}
					}
					_, err = b.store.Renew(context.WithoutCancel(t.Context()), []store.Lease{leaseOf(r)})
				}
				done <- err
			}()
		}
		for range cap(done) {
			<-started
		}
		b.store.Close()
		for range cap(done) {
			require.ErrorIs(t, <-done, store.ErrClosed)
		}
	})
}

func TestLostConnections(t *testing.T) {
	t.Parallel()
	b := setup(t, pgstore.Options{CallTimeout: time.Minute})
	admin := requirePool(t, b.url, single)
	kill := func() {
		execute(t, admin, `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`)
	}

	t.Run("that were idle are replaced within the call", func(t *testing.T) {
		for i := range 10 {
			r := reservation(string(rune('a' + i)))
			kill()
			c, err := store.Claim(t.Context(), b.store, r)
			require.NoError(t, err)
			require.Equal(t, store.ActAcquire, c.Action)
			kill()
			require.Equal(t, []store.Settled{store.SettledApplied}, settle(t, b.store, complete(r, "paid")))
		}
	})

	t.Run("in the middle of a settlement are replaced within the call", func(t *testing.T) {
		r := reservation("held up")
		insert(t, b.store, r)
		holder, err := admin.Begin(t.Context())
		require.NoError(t, err)
		_, err = holder.Exec(t.Context(), lockRow, r.Key)
		require.NoError(t, err)
		done := settling(t, b.store, complete(r, "paid"))
		b.requireWaiting(t, 1)
		_, err = holder.Exec(t.Context(), `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`)
		require.NoError(t, err)
		require.NoError(t, holder.Commit(t.Context()))
		require.Equal(t, []store.Settled{store.SettledApplied}, <-done)
	})
}
