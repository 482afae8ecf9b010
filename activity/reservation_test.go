package activity_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdkactivity "go.temporal.io/sdk/activity"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
)

func TestTimesOfARecord(t *testing.T) {
	t.Parallel()

	t.Run("retention begins at the attempt's deadline", func(t *testing.T) {
		t.Parallel()
		b := setup(t, withPolicy(activity.Policy{Retention: time.Hour}))
		var deadline time.Time
		_, err := b.run(1, func(ctx context.Context) error {
			deadline = sdkactivity.GetInfo(ctx).Deadline
			return nil
		})
		require.NoError(t, err)
		require.Greater(t, time.Until(deadline), 5*time.Second)
		require.WithinDuration(t, deadline.Add(time.Hour), b.record("1").ExpiresAt, time.Second)
	})

	t.Run("a pending call waits for its attempt's time and half a minute", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		var deadline time.Time
		_, err := b.run(1, func(ctx context.Context) error {
			deadline = sdkactivity.GetInfo(ctx).Deadline
			return sdkactivity.ErrResultPending
		})
		require.Equal(t, sdkactivity.ErrResultPending, err)
		r, err := b.store.Get(t.Context(), b.record("1").Key)
		require.NoError(t, err)
		require.WithinDuration(t, deadline.Add(30*time.Second), time.Now().Add(r.LeaseLeft), time.Second)
	})
}

func TestOverrun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                           string
		startToClose, maxOverrun, want time.Duration
	}{
		{"twice start-to-close", 10 * time.Minute, 0, 20 * time.Minute},
		{"a minute at least", time.Second, 0, time.Minute},
		{"a minute where nothing is known", 0, 0, time.Minute},
		{"an hour at most", 24 * time.Hour, 0, time.Hour},
		{"what the policy says", time.Second, 5 * time.Hour, 5 * time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := activity.Overrun(activity.Policy{MaxOverrun: c.maxOverrun}, sdkactivity.Info{StartToCloseTimeout: c.startToClose})
			require.Equal(t, c.want, got)
		})
	}
}

func TestCallsStayAwayLongerFromAStoreThatStaysDown(t *testing.T) {
	t.Parallel()
	for attempt, want := range map[int32]time.Duration{0: 1, 1: 1, 2: 2, 3: 4, 5: 16, 6: 30, 1 << 30: 30} {
		require.Equal(t, want*time.Second, activity.OutageDelay(attempt, 30*time.Second), "attempt %d", attempt)
	}
}
