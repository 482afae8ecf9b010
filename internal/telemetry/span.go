package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Spans.
const (
	// SpanExecution is one for each deduplicated execution, the body included,
	// whose own spans stand below it.
	SpanExecution = "dedupe.execution"
	// SpanSettle is one for a settlement that goes on after its execution has
	// answered.
	SpanSettle = "dedupe.settle"
	// SpanCompletion is one for each completion from outside.
	SpanCompletion = "dedupe.completion"
)

// Spans lists the spans.
var Spans = []string{SpanExecution, SpanSettle, SpanCompletion}

// Attributes of spans and their events beside those of metrics. Keys, attempts
// and scopes stand here only.
const (
	AttrKey     = attribute.Key("dedupe.key")
	AttrScope   = attribute.Key("dedupe.scope")
	AttrAttempt = attribute.Key("dedupe.attempt")
	AttrAction  = attribute.Key("dedupe.action")
	AttrOther   = attribute.Key("dedupe.other_execution")
	AttrAnswer  = attribute.Key("dedupe.answer")
	AttrRunID   = attribute.Key("dedupe.record.run_id")
)

// SpanAttributes lists the attributes of spans and their events.
var SpanAttributes = []attribute.Key{
	AttrKey, AttrActivityType, AttrSource, AttrScope, AttrAttempt, AttrAction, AttrOutcome, AttrOther, AttrAnswer, AttrRunID,
}

// Events of a span.
const (
	// EventDecided: the store has told what stands in the record.
	EventDecided = "dedupe.decided"
	// EventWait: the execution has to wait.
	EventWait = "dedupe.wait"
	// EventTakeover: it follows one that left no outcome.
	EventTakeover = "dedupe.takeover"
	// EventLeaseLost: another execution took the call over.
	EventLeaseLost = "dedupe.lease_lost"
	// EventSettled: the store has answered the settlement.
	EventSettled = "dedupe.settled"
	// EventSettleDeferred: the settlement goes on in the background.
	EventSettleDeferred = "dedupe.settle_deferred"
	// EventSettleFailed: it was given up.
	EventSettleFailed = "dedupe.settle_failed"
)

// Events lists the events.
var Events = []string{EventDecided, EventWait, EventTakeover, EventLeaseLost, EventSettled, EventSettleDeferred, EventSettleFailed}

// Span is a span, or nothing where nobody records it.
type Span struct{ span trace.Span }

// Start begins a span. attrs are asked for only if it is recorded.
func (t *Telemetry) Start(ctx context.Context, name string, attrs func() []attribute.KeyValue) (context.Context, Span) {
	return start(ctx, t.tracer, name, attrs)
}

func start(ctx context.Context, t trace.Tracer, name string, attrs func() []attribute.KeyValue) (context.Context, Span) {
	ctx, span := t.Start(ctx, name)
	if span.IsRecording() {
		span.SetAttributes(attrs()...)
	}
	return ctx, Span{span}
}

// Event adds an event.
func (s Span) Event(name string, attrs ...attribute.KeyValue) {
	if s.span.IsRecording() {
		s.span.AddEvent(name, trace.WithAttributes(attrs...))
	}
}

// Decided adds what an execution does about its record, and whose it is.
func (s Span) Decided(action, runID string) {
	if s.span.IsRecording() {
		s.span.SetAttributes(AttrAction.String(action))
		s.Event(EventDecided, AttrAction.String(action), AttrRunID.String(runID))
	}
}

// Waits adds what an execution waits for.
func (s Span) Waits(why Outcome) {
	if s.span.IsRecording() {
		s.Event(EventWait, AttrOutcome.String(string(why)))
	}
}

// Settled adds what the store answered to a settlement.
func (s Span) Settled(action, answer string) {
	if s.span.IsRecording() {
		s.Event(EventSettled, AttrAction.String(action), AttrAnswer.String(answer))
	}
}

// Set sets attributes.
func (s Span) Set(attrs ...attribute.KeyValue) { s.span.SetAttributes(attrs...) }

// Ended sets the outcome, and the status: of what somebody should look at.
func (s Span) Ended(o Outcome) {
	if !s.span.IsRecording() {
		return
	}
	s.span.SetAttributes(AttrOutcome.String(string(o)))
	if wrong[o] {
		s.span.SetStatus(codes.Error, string(o))
	}
}

// Wrong sets the status alone.
func (s Span) Wrong(why string) { s.span.SetStatus(codes.Error, why) }

// End ends the span.
func (s Span) End() { s.span.End() }

// LinkTo links the span to the one that a W3C traceparent names, if there is one
// and it is not in the same place.
func (s Span) LinkTo(traceParent string) {
	if traceParent == "" || !s.span.IsRecording() {
		return
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": traceParent})
	if other := trace.SpanContextFromContext(ctx); other.IsValid() && other.SpanID() != s.span.SpanContext().SpanID() {
		s.span.AddLink(trace.Link{SpanContext: other})
	}
}

// TraceParent is the W3C form of ctx's span, or empty without one.
func TraceParent(ctx context.Context) string {
	s := trace.SpanContextFromContext(ctx)
	if !s.IsValid() {
		return ""
	}
	return "00-" + s.TraceID().String() + "-" + s.SpanID().String() + "-" + s.TraceFlags().String()
}
