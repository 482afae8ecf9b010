package telemetry

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"
)

// Completer emits what becomes of completions from outside. Their process has no
// plugin, and need not have its other instruments.
type Completer struct {
	tracer trace.Tracer
	ended  metric.Int64Counter
}

// NewCompleter makes the instrument. nil providers are the global ones. Where the
// instrument cannot be made, as under a view that does not fit it, OpenTelemetry's
// error handler hears of it, and nothing is counted: a completion is not to fail for
// that.
func NewCompleter(tp trace.TracerProvider, mp metric.MeterProvider) *Completer {
	ended, err := counter(meter(mp), CompletionMetric)
	if err != nil {
		otel.Handle(err)
		ended = noop.Int64Counter{}
	}
	return &Completer{tracer(tp), ended}
}

// Start begins the span of a completion. attrs are asked for only if it is recorded.
func (c *Completer) Start(ctx context.Context, attrs func() []attribute.KeyValue) (context.Context, Span) {
	return start(ctx, c.tracer, SpanCompletion, attrs)
}

// Ended counts a completion.
func (c *Completer) Ended(ctx context.Context, namespace, activityType string, o Outcome) {
	c.ended.Add(ctx, 1, metric.WithAttributes(
		AttrNamespace.String(namespace), AttrActivityType.String(activityType), AttrOutcome.String(string(o))))
}
