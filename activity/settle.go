package activity

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/telemetry"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// settle writes how the execution ended, detached from its cancellation. In the
// foreground it takes no longer than Temporal would wait for the answer; then
// the answer goes out, and settling goes on in the background. The lease is kept
// until then. known tells whether the store has answered.
func (e *execution) settle(ctx context.Context, s store.Settlement) (settled store.Settled, known bool) {
	begun := time.Now()
	ctx = context.WithoutCancel(ctx)
	if e.asked.IsZero() {
		defer e.asks()()
	}
	end := begun.Add(e.i.options.SettleTimeout)
	answered := false
	defer func() {
		if !answered { // the store has panicked: nobody would end the lease
			e.drop()
		}
	}()
	settled, err := e.i.settleUntil(ctx, begun.Add(e.foreground(begun)), s)
	answered = true
	if err == nil {
		e.settledAs(ctx, e.span, s, settled)
		return settled, true
	}
	e.span.Event(telemetry.EventSettleDeferred)
	e.log.Warn("dedupe: record not settled yet, going on in the background", "Error", err)
	e.i.background.begin(func() {
		ctx, span := e.i.telemetry.Start(ctx, telemetry.SpanSettle, e.spanAttributes)
		defer span.End()
		defer e.drop() // also after runtime.Goexit in the store
		settled, err := e.i.settleBehind(ctx, end, s)
		if err != nil {
			e.log.Error("dedupe: record could not be settled; Temporal's history is now the only record of this call",
				"Outcome", string(s.Outcome), "Error", err)
			e.settleFailed(ctx, span)
			return
		}
		e.settledAs(ctx, span, s, settled)
	})
	return "", false
}

// settledAs ends the lease and reports what the store has answered.
func (e *execution) settledAs(ctx context.Context, span telemetry.Span, s store.Settlement, settled store.Settled) {
	e.drop()
	span.Settled(string(s.Outcome), string(settled))
	switch settled {
	case store.SettledStale:
		e.log.Error("dedupe: stale write rejected, another execution has taken this call over", "Outcome", string(s.Outcome))
		span.Wrong("stale write rejected")
		e.count.StaleWrite(ctx)
	case store.SettledMissing:
		e.log.Error("dedupe: record is gone, Temporal's history is now the only record of this call", "Outcome", string(s.Outcome))
		e.settleFailed(ctx, span)
	}
}

// settleFailed counts an end that is not recorded.
func (e *execution) settleFailed(ctx context.Context, span telemetry.Span) {
	e.count.SettleFailed(ctx)
	span.Event(telemetry.EventSettleFailed)
	span.Wrong("the end is not recorded")
}

func (e *execution) drop() {
	if e.kept != nil {
		e.i.keeper.drop(e.kept)
	}
}

// foreground is how long settling may hold back the answer to Temporal.
func (e *execution) foreground(now time.Time) time.Duration {
	budget := e.i.options.SettleTimeout
	if d := e.info.HeartbeatTimeout; d > 0 {
		budget = min(budget, d/2)
	}
	if e.info.Deadline.IsZero() {
		return budget
	}
	switch left := e.info.Deadline.Sub(now); {
	case left <= 0: // the answer is dropped anyway
		return min(budget, e.i.options.StoreCallTimeout)
	case left < 2*time.Second:
		return min(budget, left/2)
	default:
		return min(budget, left-time.Second)
	}
}

func (i *Interceptor) settleUntil(ctx context.Context, end time.Time, s store.Settlement) (store.Settled, error) {
	return settleUntil(ctx, end, i.store, i.options.StoreCallTimeout, s)
}

// settleBehind is settleUntil in a goroutine of ours, where a panic of the store
// would end the process. In an activity's it goes to Temporal.
func (i *Interceptor) settleBehind(ctx context.Context, end time.Time, s store.Settlement) (settled store.Settled, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("dedupe: the store panicked with a %T", value)
		}
	}()
	return i.settleUntil(ctx, end, s)
}

// settleUntil settles until the store has answered, or until end, or until ctx is
// done. timeout bounds each try.
func settleUntil(ctx context.Context, end time.Time, st store.Store, timeout time.Duration, s store.Settlement) (store.Settled, error) {
	for delay := 50 * time.Millisecond; ; delay = min(2*delay, time.Second) {
		call, cancel := context.WithTimeout(ctx, min(timeout, time.Until(end)))
		answers, err := st.Settle(call, []store.Settlement{s})
		cancel()
		if err == nil && len(answers) == 1 {
			return answers[0], nil
		}
		if err == nil {
			err = fmt.Errorf("dedupe: store gave %d answers to one settlement", len(answers))
		}
		wait := jitter(delay)
		if errors.Is(err, store.ErrInvalidArgument) || errors.Is(err, store.ErrClosed) || time.Until(end) <= wait || !pause(ctx, wait) {
			return "", err
		}
	}
}
