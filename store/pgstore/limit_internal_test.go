package pgstore

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
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
