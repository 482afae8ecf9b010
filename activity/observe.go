package activity

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/telemetry"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// observe carries the execution out inside its span. The span's own traceparent
// goes into the record, so that replays can point at the execution they repeat.
func (e *execution) observe(ctx context.Context, do func(context.Context) (any, error)) (any, error) {
	ctx, e.span = e.i.telemetry.Start(ctx, telemetry.SpanExecution, e.spanAttributes)
	e.call.origin.TraceParent = telemetry.TraceParent(ctx)
	if e.effect == nil {
		e.count.InFlight(ctx, 1)
	}
	defer func() { // also after a panic or runtime.Goexit
		if e.effect == nil {
			e.count.InFlight(ctx, -1)
		}
		if e.kept != nil {
			e.kept.cancel(nil)
		}
		e.span.End()
	}()
	return do(ctx)
}

// spanAttributes name the call on a span. Keys, attempts and scopes stand on
// spans and in logs only, never on metrics.
func (e *execution) spanAttributes() []attribute.KeyValue {
	return []attribute.KeyValue{
		telemetry.AttrKey.String(ShortKey(e.call.key)),
		telemetry.AttrActivityType.String(e.info.ActivityType.Name),
		telemetry.AttrSource.String(string(e.call.source)),
		telemetry.AttrScope.String(string(e.policy.Scope)),
		telemetry.AttrAttempt.Int(int(e.info.Attempt)),
	}
}

// found tells, on the span and in the log, which record was found and whose it is.
func (e *execution) found(ctx context.Context, claimed store.Claimed) {
	told := false
	defer func() {
		if !told && owns(claimed.Action) { // the user's logger has panicked, so that the body never starts
			e.giveBack(ctx, claimed)
		}
	}()
	e.span.Decided(string(claimed.Action), claimed.Found.RunID)
	e.span.LinkTo(claimed.Found.TraceParent)
	if claimed.Other {
		e.span.Set(telemetry.AttrOther.Bool(true))
		e.log.Warn("dedupe: answering from a record that another execution of the workflow ID left",
			"RecordRunID", claimed.Found.RunID)
	}
	if owns(claimed.Action) && claimed.Found.Status == store.StatusInProgress && claimed.Found.EffectPossible {
		e.count.TakenOver(ctx)
		e.span.Event(telemetry.EventTakeover)
		e.log.Info("dedupe: took the call over from an execution that left no outcome",
			"RecordRunID", claimed.Found.RunID, "RecordAttempt", claimed.Found.Attempt, "RecordOwner", claimed.Found.Owner)
	}
	told = true
}

// asks starts the clock of the time spent on deduplication, and returns the function
// that stops it.
func (e *execution) asks() func() {
	e.asked = time.Now()
	return func() {
		e.spent += time.Since(e.asked)
		e.asked = time.Time{}
	}
}

// record counts how the execution ended, once.
func (e *execution) record(ctx context.Context, outcome telemetry.Outcome) {
	if e.counted {
		return
	}
	e.counted = true
	spent := e.spent
	if !e.asked.IsZero() {
		spent += time.Since(e.asked)
	}
	e.span.Ended(outcome)
	e.count.Ended(ctx, string(e.call.source), outcome, spent)
}
