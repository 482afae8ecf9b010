package activity

import (
	"context"
	"slices"
	"time"

	sdkactivity "go.temporal.io/sdk/activity"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/telemetry"
)

const (
	// pollFirst and pollMost bound how often a waiting execution asks again.
	pollFirst = 50 * time.Millisecond
	pollMost  = time.Second
	// minBounce is the shortest delay that Temporal's timers keep.
	minBounce = time.Second
)

// retryLater is an answer that waiting may change.
type retryLater struct {
	errType string
	outcome telemetry.Outcome
	delay   time.Duration // how long it is expected to last
	atOnce  bool          // longer than an attempt: bounce without waiting first
	cause   error
	why     string
}

// waiter waits inside one attempt, and heartbeats for the user meanwhile.
type waiter struct {
	e     *execution
	since time.Time
	poll  time.Duration
	beat  *heartbeater
}

func newWaiter(ctx context.Context, e *execution) waiter {
	w := waiter{e: e, since: time.Now(), poll: pollFirst}
	if e.effect == nil { // inside a body, heartbeats are the user's own
		w.beat = newHeartbeater(ctx, e.info, e.log)
	}
	return w
}

func (w *waiter) stop(ctx context.Context) { w.beat.stop(ctx) }

// wait returns nil when it is time to ask again, and otherwise the error with
// which the attempt ends: ctx's own when it was cancelled, or a bounce. A bounce
// costs an attempt. It happens when the execution has waited long enough that a
// body could no longer have most of the attempt, or when it cannot heartbeat and
// Temporal would soon take it for dead; and only where Temporal will try again:
// never on the last attempt, or near the end of schedule-to-close, where it would
// be the activity's final failure. There it goes on waiting, even without
// heartbeats: what it waits for may come before the heartbeat timeout does.
func (w *waiter) wait(ctx context.Context, r retryLater) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	waited, silence := time.Since(w.since), w.beat.left()
	if (r.atOnce || waited >= w.limit() || silence <= 0) && !w.e.staysInAttempt() {
		want := min(max(r.delay, minBounce), w.e.i.options.MaxBounce)
		if delay, ok := bounce(w.e.info, r.errType, want, time.Now()); ok {
			return later(r.errType, delay, r.cause, "%s: call %q: %s after waiting %v; trying again in %v",
				w.e.info.ActivityType.Name, w.e.call.key, r.why, waited.Round(time.Millisecond), delay.Round(time.Millisecond))
		}
	}
	if w.poll == pollFirst { // the first time
		w.e.count.Waited(ctx)
		w.e.span.Waits(r.outcome)
	}
	step := jitter(w.poll)
	if r.errType == ErrTypeInFlight && r.delay > 0 {
		step = min(step, r.delay)
	}
	if silence > 0 {
		step = min(step, silence)
	}
	w.poll = min(2*w.poll, pollMost)
	if !pause(ctx, step) {
		return ctx.Err()
	}
	return nil
}

// limit is how long to wait before bouncing.
func (w *waiter) limit() time.Duration {
	limit := w.e.policy.WaitLimit
	if d := w.e.info.StartToCloseTimeout; d > 0 {
		limit = min(limit, d/10)
	}
	return limit
}

// bounce tells after which delay the attempt may be given back to Temporal, if
// at all.
func bounce(info sdkactivity.Info, errType string, want time.Duration, now time.Time) (time.Duration, bool) {
	if p := info.RetryPolicy; p != nil {
		if p.MaximumAttempts > 0 && info.Attempt >= p.MaximumAttempts {
			return 0, false
		}
		if slices.Contains(p.NonRetryableErrorTypes, errType) {
			return 0, false
		}
	}
	end, bounded, known := retriedUntil(info)
	if !known {
		return 0, false
	}
	if bounded {
		// A delay that ends beyond schedule-to-close fails the activity at
		// once; half of what is left leaves time for the attempt as well.
		left := end.Sub(now)
		if left < 2*minBounce {
			return 0, false
		}
		want = min(want, left/2)
	}
	return want, true
}

// retriedUntil tells until when a next attempt may begin, where something bounds
// it.
//
// A local activity's schedule-to-close, which always has a value, counts from when
// the workflow first made the call, and no attempt is told when that was:
// ScheduledTime is new after each retry by a timer. It is new as well where a
// worker died and another one replays the workflow task that the first had kept
// alive: a first attempt may begin near that end, or after it, and cannot know.
// From the second attempt on the SDK sets no Deadline beyond that end, which makes
// Deadline the bound that is sure.
func retriedUntil(info sdkactivity.Info) (end time.Time, bounded, known bool) {
	switch {
	case info.IsLocalActivity:
		return info.Deadline, true, info.Attempt > 1
	case info.ScheduleToCloseTimeout > 0:
		return info.ScheduledTime.Add(info.ScheduleToCloseTimeout), true, true
	default:
		return time.Time{}, false, true
	}
}
