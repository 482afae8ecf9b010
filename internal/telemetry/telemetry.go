// Package telemetry holds what is emitted through OpenTelemetry: the spans, the
// instruments and their attributes. It uses the API only and is inert without a
// provider. It must not know what the values mean.
package telemetry

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// Name is the instrumentation scope.
const Name = "github.com/seed5aa7bdf6/temporal-dedupe"

// Spans.
const (
	// SpanReserve is one per execution: from asking for the record until it is
	// owned or has answered, waiting included.
	SpanReserve = "dedupe.reserve"
	// SpanSettle is one per settlement.
	SpanSettle = "dedupe.settle"
)

// Attributes. Those on metrics take few values; keys, attempts and scopes stand
// on spans only.
const (
	AttrOutcome      = attribute.Key("outcome")
	AttrSource       = attribute.Key("source")
	AttrActivityType = attribute.Key("activity_type")
	AttrKey          = attribute.Key("dedupe.key")
	AttrScope        = attribute.Key("dedupe.scope")
	AttrAttempt      = attribute.Key("dedupe.attempt")
	AttrAction       = attribute.Key("dedupe.action")
)

// Telemetry emits spans and metrics.
type Telemetry struct {
	tracer      trace.Tracer
	outcome     metric.Int64Counter
	latency     metric.Float64Histogram
	leaseLost   metric.Int64Counter
	staleWrites metric.Int64Counter
	settleFails metric.Int64Counter

	mu     sync.RWMutex
	counts map[series]options
}

// series is what sets the figures of executions apart. There are few: activity
// types, times what they can end as.
type series struct {
	activityType, source string
	outcome              Outcome
}

// options are a series' attributes, as its instruments take them.
type options struct {
	outcome []metric.AddOption
	latency []metric.RecordOption
}

// New makes the instruments. nil providers are the global ones.
func New(tp trace.TracerProvider, mp metric.MeterProvider) (*Telemetry, error) {
	if tp == nil {
		tp = otel.GetTracerProvider()
	}
	if mp == nil {
		mp = otel.GetMeterProvider()
	}
	t := &Telemetry{tracer: tp.Tracer(Name), counts: map[series]options{}}
	return t, t.instruments(mp.Meter(Name))
}

// Start begins a span.
func (t *Telemetry) Start(ctx context.Context, name string) (context.Context, trace.Span) {
	return t.tracer.Start(ctx, name)
}

// Execution is what is counted of one execution.
type Execution struct {
	ActivityType, Source string
	Outcome              Outcome
	// Latency is the time spent on deduplication, without the body.
	Latency time.Duration
}

// Record counts an execution.
func (t *Telemetry) Record(ctx context.Context, e Execution) {
	o := t.optionsOf(series{e.ActivityType, e.Source, e.Outcome})
	t.outcome.Add(ctx, 1, o.outcome...)
	t.latency.Record(ctx, e.Latency.Seconds(), o.latency...)
}

// optionsOf makes the attributes of a series once, and not for every execution.
func (t *Telemetry) optionsOf(s series) options {
	t.mu.RLock()
	o, ok := t.counts[s]
	t.mu.RUnlock()
	if ok {
		return o
	}
	attrs := metric.WithAttributeSet(attribute.NewSet(
		AttrActivityType.String(s.activityType), AttrSource.String(s.source), AttrOutcome.String(string(s.outcome))))
	o = options{outcome: []metric.AddOption{attrs}, latency: []metric.RecordOption{attrs}}
	t.mu.Lock()
	t.counts[s] = o
	t.mu.Unlock()
	return o
}

// LeaseLost counts a body that another execution has overtaken.
func (t *Telemetry) LeaseLost(ctx context.Context, activityType string) {
	t.leaseLost.Add(ctx, 1, metric.WithAttributes(AttrActivityType.String(activityType)))
}

// StaleWrite counts a settlement that the store refused.
func (t *Telemetry) StaleWrite(ctx context.Context, activityType string) {
	t.staleWrites.Add(ctx, 1, metric.WithAttributes(AttrActivityType.String(activityType)))
}

// SettleFailed counts an execution whose end is not recorded.
func (t *Telemetry) SettleFailed(ctx context.Context, activityType string) {
	t.settleFails.Add(ctx, 1, metric.WithAttributes(AttrActivityType.String(activityType)))
}

// TraceParent is the W3C form of ctx's span, or empty without one.
func TraceParent(ctx context.Context) string {
	s := trace.SpanContextFromContext(ctx)
	if !s.IsValid() {
		return ""
	}
	return "00-" + s.TraceID().String() + "-" + s.SpanID().String() + "-" + s.TraceFlags().String()
}
