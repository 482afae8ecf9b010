package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// executions reads the counter dedupe.outcome, which the plugin keeps, as a
// list such as "executed 80, replayed 7". Without the plugin it is empty.
func (s *shop) executions(ctx context.Context) (string, error) {
	var data metricdata.ResourceMetrics
	if s.metrics == nil {
		return "", nil
	}
	if err := s.metrics.Collect(ctx, &data); err != nil {
		return "", fmt.Errorf("payment: collect metrics: %w", err)
	}
	counts := map[string]int64{}
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			sum, ok := m.Data.(metricdata.Sum[int64])
			if !ok || m.Name != "dedupe.outcome" {
				continue
			}
			for _, point := range sum.DataPoints {
				outcome, _ := point.Attributes.Value("outcome")
				counts[outcome.AsString()] += point.Value
			}
		}
	}
	var parts []string
	for _, outcome := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", outcome, counts[outcome]))
	}
	return strings.Join(parts, ", "), nil
}
