package activity_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/memstore"
)

// unreliable returns a store whose faults the test sets.
func unreliable(t *testing.T) *faulty {
	t.Helper()
	memory, err := memstore.New(memstore.Options{})
	require.NoError(t, err)
	return &faulty{Store: memory}
}

func TestStoreOutage(t *testing.T) {
	t.Parallel()
	soon := activity.Policy{WaitLimit: time.Millisecond}

	t.Run("the body does not run, and the answer is benign and comes back later", func(t *testing.T) {
		t.Parallel()
		s := unreliable(t)
		b, runs := setup(t, withStore(s), withPolicy(soon)), 0
		s.down.Store(true)
		_, err := b.run(1, counted(&runs), "10 EUR")
		app := requireErrType(t, err, activity.ErrTypeStoreUnavailable)
		require.False(t, app.NonRetryable())
		require.Equal(t, temporal.ApplicationErrorCategoryBenign, app.Category())
		require.GreaterOrEqual(t, app.NextRetryDelay(), time.Second)
		require.Zero(t, runs)
		s.down.Store(false)
		require.NoError(t, b.interceptor.Drain(context.Background()))
	})

	t.Run("RunUnprotected runs the body, and counts it", func(t *testing.T) {
		t.Parallel()
		s := unreliable(t)
		b, e := setup(t, withStore(s), withPolicy(activity.Policy{OnStoreError: activity.RunUnprotected})), &ends{}
		s.down.Store(true)
		_, err := b.run(1, e.body)
		require.NoError(t, err)
		require.Equal(t, 1, e.runs)
		require.Len(t, string(e.keys[0]), 64)
		require.Equal(t, map[string]int64{"unprotected": 1}, b.outcomes())
		s.down.Store(false)
		require.NoError(t, b.interceptor.Drain(context.Background()))
	})

	t.Run("a reservation whose answer was lost is recognised as its own", func(t *testing.T) {
		t.Parallel()
		s := unreliable(t)
		b, runs := setup(t, withStore(s)), 0
		s.loseAnswer.Store(1)
		_, err := b.run(1, counted(&runs), "10 EUR")
		require.NoError(t, err)
		require.Equal(t, 1, runs)
		r := b.record("1")
		require.Equal(t, store.StatusCompleted, r.Status)
		require.Equal(t, 1, r.Acquisitions)
		require.NoError(t, b.interceptor.Drain(context.Background()))
	})

	t.Run("a store that the program has closed is no outage: nothing runs unprotected", func(t *testing.T) {
		t.Parallel()
		memory, err := memstore.New(memstore.Options{})
		require.NoError(t, err)
		b, runs := setup(t, withStore(memory), withPolicy(activity.Policy{
			OnStoreError: activity.RunUnprotected, WaitLimit: time.Millisecond,
		})), 0
		memory.Close()
		_, err = b.run(1, counted(&runs), "10 EUR")
		requireErrType(t, err, activity.ErrTypeStoreUnavailable)
		require.Zero(t, runs)
		require.NoError(t, b.interceptor.Drain(context.Background()))
	})

	t.Run("a reservation that arrives after its caller has left is released", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := unreliable(t)
			b := setup(t, withStore(&slowly{Store: s.Store}), withPolicy(soon))
			_, err := b.run(1, counted(new(int)), "10 EUR")
			requireErrType(t, err, activity.ErrTypeStoreUnavailable)
			require.NoError(t, b.interceptor.Drain(context.Background()))
			r, err := s.Get(t.Context(), b.record("1").Key)
			require.NoError(t, err)
			require.False(t, r.LeaseLive())
			require.False(t, r.EffectPossible)
		})
	})

	t.Run("a settlement whose answer was lost is repeated and recognised", func(t *testing.T) {
		t.Parallel()
		s := unreliable(t)
		b := setup(t, withStore(s))
		for range 2 {
			_, err := b.run(1, func(context.Context) error { s.loseAnswer.Store(1); return nil })
			require.NoError(t, err)
		}
		require.Equal(t, map[string]int64{"executed": 1, "replayed": 1}, b.outcomes())
	})

	t.Run("an outage while the body runs leaves its result to the background", func(t *testing.T) {
		t.Parallel()
		s := unreliable(t)
		b, runs := setup(t, withStore(s)), 0
		env := b.env(1)
		env.SetHeartbeatDetails("x")
		_, err := runIn(env, func(context.Context) error {
			runs++
			s.down.Store(true)
			time.AfterFunc(200*time.Millisecond, func() { s.down.Store(false) })
			return nil
		})
		require.NoError(t, err)
		require.NoError(t, b.interceptor.Drain(context.Background()))
		require.Equal(t, store.StatusCompleted, b.record("1").Status)
	})

	t.Run("who is cancelled in the queue does not run unprotected", func(t *testing.T) {
		t.Parallel()
		memory, err := memstore.New(memstore.Options{})
		require.NoError(t, err)
		s := &stuck{Store: memory, entered: make(chan struct{}), leave: make(chan struct{})}
		b, e := setup(t, withStore(s), withPolicy(activity.Policy{OnStoreError: activity.RunUnprotected}), func(o *activity.Options) {
			o.MaxConcurrentStoreCalls = 1
		}), &ends{}
		first := make(chan error)
		go func() {
			_, err := b.run(1, counted(new(int)), "10 EUR")
			first <- err
		}()
		<-s.entered
		cancelled, cancel := context.WithCancel(context.Background())
		cancel()
		env := b.env(2)
		env.SetWorkerOptions(workerOptions(b, cancelled))
		_, err = runIn(env, e.body)
		require.ErrorContains(t, err, "canceled")
		require.Zero(t, e.runs)
		close(s.leave)
		require.NoError(t, <-first)
	})

	t.Run("executions that queue too long for the store are told that it is busy", func(t *testing.T) {
		t.Parallel()
		s := &stuck{entered: make(chan struct{}), leave: make(chan struct{})}
		memory, err := memstore.New(memstore.Options{})
		require.NoError(t, err)
		s.Store = memory
		b, runs := setup(t, withStore(s), func(o *activity.Options) {
			o.MaxConcurrentStoreCalls, o.StoreQueueTimeout = 1, time.Millisecond
			o.Policies = map[string]activity.Policy{activity.AnyActivity: soon}
		}), 0
		first := make(chan error)
		go func() {
			_, err := b.run(1, counted(new(int)), "10 EUR")
			first <- err
		}()
		<-s.entered
		_, err = b.run(2, counted(&runs), "10 EUR")
		requireErrType(t, err, activity.ErrTypeStoreBusy)
		require.Zero(t, runs)
		close(s.leave)
		require.NoError(t, <-first)
	})
}

// slowly is a store whose reservations arrive half a second after their callers were
// told that they cannot.
type slowly struct{ store.Store }

func (l *slowly) Reserve(ctx context.Context, r []store.Reservation) ([]store.Found, error) {
	time.AfterFunc(500*time.Millisecond, func() { _, _ = l.Store.Reserve(context.WithoutCancel(ctx), r) })
	return nil, errDown
}

// stuck is a store whose first reservation takes until the test lets it go.
type stuck struct {
	store.Store
	entered, leave chan struct{}
}

func (s *stuck) Reserve(ctx context.Context, r []store.Reservation) ([]store.Found, error) {
	select {
	case s.entered <- struct{}{}:
	case <-s.leave:
	}
	<-s.leave
	return s.Store.Reserve(ctx, r)
}
