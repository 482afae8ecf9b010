package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// Completer emits what becomes of completions from outside. Their process has no
// plugin, and need not have its other instruments.
type Completer struct {
	tracer trace.Tracer
	ended  metric.Int64Counter
}

// NewCompleter makes the instrument. nil providers are the global ones.
func NewCompleter(tp trace.TracerProvider, mp metric.MeterProvider) (*Completer, error) {
	ended, err := counter(meter(mp), CompletionMetric)
	if err != nil {
		return nil, err
	}
	return &Completer{tracer(tp), ended}, nil
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
