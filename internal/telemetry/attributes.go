package telemetry

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// attributes are one set of attributes, in the forms that instruments take. They
// are made once for each set: a call that is deduplicated has microseconds.
type attributes struct {
	add    []metric.AddOption
	record []metric.RecordOption
}

func newAttributes(kvs ...attribute.KeyValue) attributes {
	set := metric.WithAttributeSet(attribute.NewSet(kvs...))
	return attributes{add: []metric.AddOption{set}, record: []metric.RecordOption{set}}
}
