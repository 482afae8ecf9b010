package activity_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// locally is the body of a local activity, whose function has a name.
type locally func(context.Context) error

func (l locally) Run(ctx context.Context) error { return l(ctx) }

// silent is a store that renews nothing, and says nothing about it.
type silent struct{ store.Store }

func (silent) Renew(context.Context, []store.Lease) ([]store.Renewal, error) { return nil, nil }

// locked is a store whose records are locked by somebody until some time.
type locked struct {
	store.Store
	until time.Time
}

func (l *locked) Renew(ctx context.Context, leases []store.Lease) ([]store.Renewal, error) {
	if time.Now().After(l.until) {
		return l.Store.Renew(ctx, leases)
	}
	return slices.Repeat([]store.Renewal{store.LeaseLocked}, len(leases)), nil
}

// In these tests an hour passes at once; a lease is half a minute long.
func TestKeeper(t *testing.T) {
	t.Parallel()

	t.Run("a body keeps its lease for as long as it runs", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := unreliable(t)
			b := setup(t, withStore(s))
			_, err := b.run(1, func(context.Context) error {
				for range 8 {
					time.Sleep(time.Minute) //nolint:forbidigo // fake clock
					require.True(t, b.leaseLive("1"))
				}
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, 1, b.record("1").Acquisitions)
			require.InDelta(t, 48, s.renewals.Load(), 2, "one statement every ten seconds")
		})
	})

	t.Run("one renewal that hangs costs no lease", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := unreliable(t)
			s.hang.Store(2)
			b := setup(t, withStore(s))
			_, err := b.run(1, func(context.Context) error {
				for range 60 {
					time.Sleep(time.Second) //nolint:forbidigo // fake clock
					require.True(t, b.leaseLive("1"))
				}
				return nil
			})
			require.NoError(t, err)
			require.Negative(t, s.hang.Load())
		})
	})

	t.Run("a renewal that hangs does not hold back a short lease that begins meanwhile", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := unreliable(t)
			s.hang.Store(1)
			b := setup(t, withStore(s))
			long := make(chan error)
			go func() {
				_, err := b.run(1, func(context.Context) error { time.Sleep(25 * time.Second); return nil }) //nolint:forbidigo // fake clock
				long <- err
			}()
			time.Sleep(10*time.Second + time.Millisecond) //nolint:forbidigo // fake clock
			require.EqualValues(t, 1, s.renewals.Load(), "it hangs, and will for five seconds")
			env := b.env(2)
			env.SetTestTimeout(6 * time.Second) // start-to-close of a local activity, whose lease is 3 s
			_, err := env.ExecuteLocalActivity(locally(func(context.Context) error {
				key := "wl/default-test-namespace/" + workflowID + "/0/Run/2"
				for range 11 {
					time.Sleep(500 * time.Millisecond) //nolint:forbidigo // fake clock
					r, err := b.store.Get(context.Background(), key)
					require.NoError(t, err)
					require.True(t, r.LeaseLive())
				}
				return nil
			}).Run)
			require.NoError(t, err)
			require.NoError(t, <-long)
			require.InDelta(t, 8, s.renewals.Load(), 1, "one every second, from 15 s on for both leases, and after 16 s every ten")
		})
	})

	t.Run("a store that answers for fewer leases than it was asked has failed", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := setup(t, func(o *activity.Options) { o.Store = silent{o.Store} })
			_, err := b.run(1, func(context.Context) error { time.Sleep(time.Minute); return nil }) //nolint:forbidigo // fake clock
			require.NoError(t, err)
			require.Equal(t, store.StatusCompleted, b.record("1").Status)
		})
	})

	t.Run("a record that somebody has locked is renewed soon after", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := &locked{Store: unreliable(t).Store, until: time.Now().Add(25 * time.Second)}
			b := setup(t, withStore(s))
			_, err := b.run(1, func(context.Context) error {
				for range 60 {
					time.Sleep(time.Second) //nolint:forbidigo // fake clock
					require.True(t, b.leaseLive("1"))
				}
				return nil
			})
			require.NoError(t, err)
		})
	})

	t.Run("one statement renews all leases of the process", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := unreliable(t)
			b := setup(t, withStore(s))
			done := make(chan error)
			for n := 1; n <= 20; n++ {
				go func() {
					_, err := b.run(n, func(context.Context) error { time.Sleep(95 * time.Second); return nil }) //nolint:forbidigo // fake clock
					done <- err
				}()
			}
			for range 20 {
				require.NoError(t, <-done)
			}
			require.InDelta(t, 9, s.renewals.Load(), 1)
		})
	})

	t.Run("a successor in the same process keeps its lease, as every other call does, and the owner hears that it has lost its own", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := unreliable(t)
			b := setup(t, withStore(s))
			cause, ended := make(chan error, 1), make(chan struct{})
			run := func(n int, body func(context.Context) error) {
				_, _ = b.run(n, body)
				ended <- struct{}{}
			}
			minutes := func(context.Context) error { time.Sleep(5 * time.Minute); return nil } //nolint:forbidigo // fake clock
			go run(2, minutes)
			go run(1, func(ctx context.Context) error {
				<-ctx.Done()
				cause <- context.Cause(ctx)
				return nil
			})
			synctest.Wait()
			s.down.Store(true)
			time.Sleep(45 * time.Second) //nolint:forbidigo // fake clock: the leases are over
			s.down.Store(false)
			go run(1, minutes)
			for range 8 {
				time.Sleep(30 * time.Second) //nolint:forbidigo // fake clock
				for _, n := range []string{"1", "2"} {
					require.True(t, b.leaseLive(n), n)
				}
			}
			require.ErrorIs(t, <-cause, activity.ErrLeaseLost)
			require.Equal(t, 2, b.record("1").Acquisitions)
			require.Equal(t, 1, b.record("2").Acquisitions)
			for range 3 {
				<-ended
			}
		})
	})

	t.Run("an owner that was cut off while another took over is cancelled, and changes nothing", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			cut := unreliable(t)
			first, second := setup(t, withStore(cut)), setup(t, withStore(cut.Store))
			started, ended := make(chan struct{}), make(chan string)
			var cause error
			go func() {
				v, err := first.run(1, func(ctx context.Context) (string, error) {
					cut.down.Store(true)
					close(started)
					<-ctx.Done()
					cause = context.Cause(ctx)
					return "first", nil
				})
				var got string
				if err == nil {
					err = v.Get(&got)
				}
				if err != nil {
					got = err.Error()
				}
				ended <- got
			}()
			<-started
			time.Sleep(40 * time.Second) //nolint:forbidigo // fake clock: its lease is over
			v, err := second.run(1, func(context.Context) (string, error) { return "second", nil })
			require.NoError(t, err)
			var got string
			require.NoError(t, v.Get(&got))
			require.Equal(t, "second", got)

			before := second.record("1")
			cut.down.Store(false)
			require.Equal(t, "second", <-ended, "what leaves is what is recorded")
			require.ErrorIs(t, cause, activity.ErrLeaseLost)
			require.Equal(t, before, second.record("1"))
			require.Equal(t, 2, before.Acquisitions)
		})
	})

	t.Run("a body that ignores its deadline for longer than MaxOverrun is abandoned", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := setup(t, withPolicy(activity.Policy{MaxOverrun: time.Minute}))
			leave, ended := make(chan struct{}), make(chan struct{})
			go func() {
				_, _ = b.run(1, func(context.Context) error { <-leave; return nil })
				close(ended)
			}()
			// Ten minutes of start-to-close, a minute of overrun, and a lease.
			time.Sleep(10*time.Minute + 50*time.Second) //nolint:forbidigo // fake clock
			require.True(t, b.leaseLive("1"))
			time.Sleep(time.Minute) //nolint:forbidigo // fake clock
			require.False(t, b.leaseLive("1"))
			require.Equal(t, store.StatusInProgress, b.record("1").Status)
			close(leave)
			<-ended
			require.Equal(t, store.StatusCompleted, b.record("1").Status, "the truth is welcome while nobody else has the record")
		})
	})
}
