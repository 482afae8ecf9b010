package activity_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
)

// Two workers share an interceptor, and the store is down: each attempt leaves a
// release in the background that is tried for half a minute.
func TestDrain(t *testing.T) {
	t.Parallel()
	soon := activity.Policy{WaitLimit: time.Millisecond}

	t.Run("a worker that stops does not wait for what the others go on to leave", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := unreliable(t)
			s.down.Store(true)
			b := setup(t, withStore(s), withPolicy(soon))
			other, stop := context.WithCancel(t.Context())
			var goesOn sync.WaitGroup
			goesOn.Go(func() {
				for n := 1; other.Err() == nil; n++ {
					_, _ = b.run(n, func(context.Context) error { return nil })
					time.Sleep(5 * time.Second) //nolint:forbidigo // fake clock
				}
			})
			time.Sleep(time.Minute) //nolint:forbidigo // fake clock
			begun := time.Now()
			require.NoError(t, b.interceptor.Drain(t.Context()))
			require.InDelta(t, 30*time.Second, time.Since(begun), float64(6*time.Second))
			stop()
			goesOn.Wait()
			require.NoError(t, b.interceptor.Drain(t.Context()))
		})
	})

	t.Run("it ends with its context, and says so", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := unreliable(t)
			s.down.Store(true)
			b := setup(t, withStore(s), withPolicy(soon))
			_, err := b.run(1, func(context.Context) error { return nil })
			requireErrType(t, err, activity.ErrTypeStoreUnavailable)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			err = b.interceptor.Drain(ctx)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorContains(t, err, "still being settled")
			require.NoError(t, b.interceptor.Drain(t.Context()))
		})
	})
}
