package pgstore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

type answer struct{}

func TestLimitedIsAContextWithADeadline(t *testing.T) {
	t.Parallel()
	reason := errors.New("shutdown")
	for name, c := range map[string]struct {
		caller func(context.Context) (context.Context, context.CancelFunc)
		want   error
		cause  error
		after  time.Duration
	}{
		"whose own time ends it": {context.WithCancel, context.DeadlineExceeded, context.DeadlineExceeded, 5 * time.Second},
		"whose caller's time ends it": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Second)
		}, context.DeadlineExceeded, context.DeadlineExceeded, time.Second},
		"whose caller ends it": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(ctx)
			time.AfterFunc(time.Second, func() { cancel(reason) })
			return ctx, func() { cancel(nil) }
		}, context.Canceled, reason, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				caller, cancel := c.caller(context.WithValue(t.Context(), answer{}, 42))
				defer cancel()
				begun := time.Now()
				idle, waited := limit(caller, 5*time.Second), limit(caller, 5*time.Second)
				defer idle.stop()
				defer waited.stop()
				for _, l := range []*limited{idle, waited} {
					require.NoError(t, l.Err())
					require.Equal(t, 42, l.Value(answer{}))
				}
				err := new(timers).wait(idle, nil)
				require.ErrorIs(t, err, c.want)
				require.Equal(t, c.after, time.Since(begun))
				<-waited.Done()
				require.Equal(t, c.after, time.Since(begun))
				for _, l := range []*limited{idle, waited} {
					require.ErrorIs(t, l.Err(), c.want)
				}
				cancel()
				time.Sleep(time.Minute) //nolint:forbidigo // virtual time
				for _, l := range []*limited{idle, waited} {
					l.stop()
					require.ErrorIs(t, l.Err(), c.want, "whatever comes later")
				}
				require.ErrorIs(t, context.Cause(waited), c.cause)
				require.Equal(t, 42, waited.Value(answer{}))
				end, ok := idle.Deadline()
				require.True(t, ok)
				require.False(t, end.After(begun.Add(5*time.Second)))
			})
		})
	}
}

func TestLimitedNeedsNoGoroutine(t *testing.T) { //nolint:paralleltest // counts goroutines
	l := limit(t.Context(), time.Minute)
	defer l.stop()
	before := runtime.NumGoroutine()
	for range 100 {
		child, cancel := context.WithCancel(l)
		defer cancel()
		context.AfterFunc(child, func() {})
	}
	require.Less(t, runtime.NumGoroutine(), before+50)
}

func TestTimersAreUsedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var pool timers
		for range 100 {
			l := limit(t.Context(), time.Second)
			require.ErrorIs(t, pool.wait(l, nil), context.DeadlineExceeded)
			l.stop()

			l = limit(t.Context(), time.Second)
			done := make(chan struct{})
			time.AfterFunc(999*time.Millisecond, func() { close(done) })
			require.NoError(t, pool.wait(l, done), "it is not ended by what the timer was for before")
			l.stop()
		}
	})
}

func TestLimitedIsDoneAfterItsCall(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(context.Context){
		"that asked for Done": func(ctx context.Context) { ctx.Done() }, "that did not": func(context.Context) {},
	} {
		l := limit(t.Context(), time.Minute)
		use(l)
		l.stop()
		require.ErrorIs(t, l.Err(), context.Canceled, name)
		select {
		case <-l.Done():
		default:
			t.Errorf("a call %s: not done, and has a timer that nobody stops", name)
		}
		_, cancel := context.WithTimeout(l, time.Second) // which panics for a context that is done without an error
		cancel()
	}
}

// contextKeeper keeps the last context that a driver was given, and waits where it is armed.
type contextKeeper struct {
	last             atomic.Pointer[context.Context]
	armed            atomic.Bool
	entered, release chan struct{}
}

func (k *contextKeeper) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	k.last.Store(&ctx)
	if k.armed.Load() {
		k.entered <- struct{}{}
		<-k.release
	}
	return ctx
}

func (*contextKeeper) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func TestACallWithTheContextOfAnotherThatIsOver(t *testing.T) {
	t.Parallel()
	k := &contextKeeper{entered: make(chan struct{}), release: make(chan struct{})}
	s, _ := requireOwnStore(t, func(c *pgxpool.Config) { c.ConnConfig.Tracer = k })
	paid := newReservation("paid")
	_, err := s.Reserve(t.Context(), []store.Reservation{paid})
	require.NoError(t, err)
	over := *k.last.Load()
	<-over.Done()
	k.armed.Store(true)
	var group sync.WaitGroup
	for i := range defaultBatchesInFlight {
		group.Go(func() { _, _ = s.Reserve(context.Background(), []store.Reservation{newReservation(fmt.Sprint(i))}) })
		<-k.entered
	}
	_, err = s.Reserve(over, []store.Reservation{paid})
	k.armed.Store(false)
	close(k.release)
	group.Wait()
	require.ErrorIs(t, err, context.Canceled, "no answer is none")
}

func TestNoContextHarmsItsCallerOnly(t *testing.T) {
	t.Parallel()
	s, _ := requireOwnStore(t)
	require.Panics(t, func() { _, _ = s.Reserve(nil, []store.Reservation{newReservation("a")}) }) //nolint:staticcheck // that is it
	_, err := s.Reserve(t.Context(), []store.Reservation{newReservation("b")})
	require.NoError(t, err)
}

// reused is a context that a framework uses again once its handler has returned.
type reused struct {
	atomic.Pointer[context.Context]
}

func (r *reused) Err() error                  { return (*r.Load()).Err() }
func (r *reused) Done() <-chan struct{}       { return (*r.Load()).Done() }
func (r *reused) Deadline() (time.Time, bool) { return (*r.Load()).Deadline() }
func (r *reused) Value(key any) any           { return (*r.Load()).Value(key) }

func TestWhoHasLeftIsDroppedWhateverBecomesOfItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		d := &desk{do: func(context.Context, int, []string) error { <-gate; return nil }}
		share := d.kind(oneFlight).share
		var group sync.WaitGroup
		group.Go(func() { share(t.Context(), keys("first")) })
		synctest.Wait()
		request, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		var r reused
		r.Store(&request)
		l := limit(&r, time.Second)
		_, errs := share(l, keys("leaver"))
		l.stop()
		require.ErrorIs(t, errs[0], context.DeadlineExceeded)
		next := t.Context()
		r.Store(&next)
		close(gate)
		group.Wait()
		_, errs = share(t.Context(), keys("last"))
		require.NoError(t, errs[0])
		require.Equal(t, [][]string{{"first"}, {"last"}}, d.batches)
	})
}

// slow is a context that takes its time to say how it is.
type slow struct {
	context.Context

	gate chan struct{}
}

func (s slow) Err() error { <-s.gate; return nil }

func TestNobodyWaitsForTheContextOfAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		share := new(desk).kind(Options{}).share
		var group sync.WaitGroup
		group.Go(func() { share(limit(slow{t.Context(), gate}, time.Second), keys("slow")) })
		synctest.Wait()
		_, errs := share(limit(t.Context(), time.Second), keys("other"))
		require.NoError(t, errs[0])
		close(gate)
		group.Wait()
	})
}
