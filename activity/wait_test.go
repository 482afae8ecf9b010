package activity_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
)

// occupied starts call 1 with a body that returns when the test says so.
func occupied(t *testing.T, b *bundle) (finish func()) {
	t.Helper()
	started, leave, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		_, err := b.run(1, func(context.Context) (string, error) {
			close(started)
			<-leave
			return "first", nil
		})
		ended <- err
	}()
	<-started
	return func() {
		close(leave)
		require.NoError(t, <-ended)
	}
}

func TestInFlight(t *testing.T) {
	t.Parallel()

	t.Run("a second execution waits and gets the first one's result", func(t *testing.T) {
		t.Parallel()
		b, e := setup(t), &ends{}
		finish := occupied(t, b)
		second := make(chan string)
		go func() {
			v, err := b.run(1, e.body)
			var got string
			if err == nil {
				err = v.Get(&got)
			}
			if err != nil {
				got = err.Error()
			}
			second <- got
		}()
		finish()
		require.Equal(t, "first", <-second)
		require.Zero(t, e.runs)
	})

	t.Run("who has waited long enough comes back later, benignly", func(t *testing.T) {
		t.Parallel()
		b, e := setup(t, withPolicy(activity.Policy{WaitLimit: time.Millisecond})), &ends{}
		finish := occupied(t, b)
		_, err := b.run(1, e.body)
		app := requireErrType(t, err, activity.ErrTypeInFlight)
		require.False(t, app.NonRetryable())
		require.Equal(t, temporal.ApplicationErrorCategoryBenign, app.Category())
		require.Positive(t, app.NextRetryDelay())
		require.LessOrEqual(t, app.NextRetryDelay(), 30*time.Second)
		finish()
		require.Zero(t, e.runs)
	})

	t.Run("nobody waits for longer than a tenth of start-to-close", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := setup(t, withPolicy(activity.Policy{WaitLimit: time.Hour}))
			finish := occupied(t, b)
			begun := time.Now()
			_, err := b.run(1, func(context.Context) error { return nil })
			requireErrType(t, err, activity.ErrTypeInFlight)
			require.InDelta(t, time.Minute, time.Since(begun), float64(2*time.Second), "of the ten minutes that the environment gives")
			finish()
		})
	})

	t.Run("who is cancelled while waiting gets its own cancellation", func(t *testing.T) {
		t.Parallel()
		b, e := setup(t), &ends{}
		finish := occupied(t, b)
		defer finish()
		cancelled, cancel := context.WithCancel(context.Background())
		env := b.env(1)
		env.SetWorkerOptions(workerOptions(b, cancelled))
		cancel()
		_, err := runIn(env, e.body)
		require.ErrorContains(t, err, "canceled")
		require.Zero(t, e.runs)
	})

	t.Run("another request is refused at once, although the first still runs", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		started, leave, ended := make(chan struct{}), make(chan struct{}), make(chan error)
		go func() {
			_, err := b.run(1, func(context.Context, string) error {
				close(started)
				<-leave
				return nil
			}, "10 EUR")
			ended <- err
		}()
		<-started
		_, err := b.run(1, func(context.Context, string) error { return nil }, "99 EUR")
		requireErrType(t, err, activity.ErrTypeConflict)
		close(leave)
		require.NoError(t, <-ended)
	})
}

func TestBounce(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	for _, c := range []struct {
		name  string
		info  sdkactivity.Info
		delay time.Duration
		ok    bool
	}{
		{"without a retry policy, as wanted", sdkactivity.Info{Attempt: 1}, 10 * time.Second, true},
		{"with attempts left, as wanted", sdkactivity.Info{Attempt: 1, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 2}}, 10 * time.Second, true},
		{"never on the only attempt", sdkactivity.Info{Attempt: 1, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1}}, 0, false},
		{"never on the last attempt", sdkactivity.Info{Attempt: 2, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 2}}, 0, false},
		{"never where the policy makes our error final", sdkactivity.Info{Attempt: 1,
			RetryPolicy: &temporal.RetryPolicy{NonRetryableErrorTypes: []string{activity.ErrTypeInFlight}}}, 0, false},
		{"sooner where schedule-to-close would end during the delay", sdkactivity.Info{Attempt: 1,
			ScheduledTime: now, ScheduleToCloseTimeout: 8 * time.Second}, 4 * time.Second, true},
		{"never where schedule-to-close is about to end", sdkactivity.Info{Attempt: 1,
			ScheduledTime: now.Add(-time.Minute), ScheduleToCloseTimeout: 61 * time.Second}, 0, false},
		{"never on a local activity's first attempt, which may be a replayed one", sdkactivity.Info{Attempt: 1, IsLocalActivity: true,
			ScheduledTime: now, ScheduleToCloseTimeout: time.Hour, Deadline: now.Add(time.Hour)}, 0, false},
		{"before the deadline of a local activity's later one, whenever it was scheduled", sdkactivity.Info{Attempt: 2, IsLocalActivity: true,
			ScheduledTime: now, ScheduleToCloseTimeout: time.Hour, Deadline: now.Add(6 * time.Second)}, 3 * time.Second, true},
		{"never near that deadline", sdkactivity.Info{Attempt: 2, IsLocalActivity: true,
			ScheduledTime: now, ScheduleToCloseTimeout: time.Hour, Deadline: now.Add(time.Second)}, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			delay, ok := activity.Bounce(c.info, activity.ErrTypeInFlight, 10*time.Second, now)
			require.Equal(t, c.ok, ok)
			require.Equal(t, c.delay, delay)
		})
	}
}

func TestLeaseFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                    string
		startToClose, heartbeat time.Duration
		want                    time.Duration
	}{
		{"half a minute for a long activity", time.Hour, 0, 30 * time.Second},
		{"half of start-to-close", 20 * time.Second, 0, 10 * time.Second},
		{"the heartbeat timeout", time.Hour, 5 * time.Second, 5 * time.Second},
		{"three seconds at least", 2 * time.Second, time.Second, 3 * time.Second},
		{"half a minute where nothing is known", 0, 0, 30 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, activity.LeaseFor(sdkactivity.Info{StartToCloseTimeout: c.startToClose, HeartbeatTimeout: c.heartbeat}))
		})
	}
}

func TestForeground(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	for _, c := range []struct {
		name      string
		left      time.Duration
		heartbeat time.Duration
		want      time.Duration
	}{
		{"the whole budget far from the deadline", time.Hour, 0, 30 * time.Second},
		{"a second before the deadline", 10 * time.Second, 0, 9 * time.Second},
		{"half of what is left just before it", time.Second, 0, 500 * time.Millisecond},
		{"one call after it, when the answer is dropped anyway", -time.Second, 0, 5 * time.Second},
		{"half of the heartbeat timeout", time.Hour, 4 * time.Second, 2 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			info := sdkactivity.Info{Deadline: now.Add(c.left), HeartbeatTimeout: c.heartbeat}
			require.Equal(t, c.want, activity.Foreground(info, 30*time.Second, 5*time.Second, now))
		})
	}
}
