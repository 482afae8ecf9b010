package activity

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/telemetry"
)

// startSpan begins a span of the execution. Its attributes are made where somebody
// records them only: they cost more than the span.
func (e *execution) startSpan(ctx context.Context, name string) (context.Context, trace.Span) {
	ctx, span := e.i.telemetry.Start(ctx, name)
	if span.IsRecording() {
		span.SetAttributes(e.spanAttributes()...)
	}
	return ctx, span
}

// setAction says on a span what came of it.
func setAction(span trace.Span, action fmt.Stringer) {
	if span.IsRecording() {
		span.SetAttributes(telemetry.AttrAction.String(action.String()))
	}
}

// spanAttributes name the call on a span. Keys and IDs stand on spans and in
// logs only, never on metrics.
func (e *execution) spanAttributes() []attribute.KeyValue {
	return []attribute.KeyValue{
		telemetry.AttrKey.String(ShortKey(e.call.key)),
		telemetry.AttrActivityType.String(e.info.ActivityType.Name),
		telemetry.AttrSource.String(string(e.call.source)),
		telemetry.AttrScope.String(e.policy.Scope.String()),
		telemetry.AttrAttempt.Int(int(e.info.Attempt)),
	}
}
