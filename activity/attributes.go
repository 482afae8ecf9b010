package activity

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/telemetry"
)

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
