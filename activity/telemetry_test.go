package activity_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/telemetry"
)

func TestTelemetry(t *testing.T) {
	t.Parallel()

	t.Run("a span per reservation and per settlement, with the short key and the scope", func(t *testing.T) {
		t.Parallel()
		spans := tracetest.NewSpanRecorder()
		b := setup(t, func(o *activity.Options) {
			o.TracerProvider = trace.NewTracerProvider(trace.WithSpanProcessor(spans))
		})
		for range 2 {
			_, err := b.run(1, counted(new(int)), "10 EUR")
			require.NoError(t, err)
		}
		var names, actions []string
		for _, s := range spans.Ended() {
			names = append(names, s.Name())
			attrs := attribute.NewSet(s.Attributes()...)
			key, _ := attrs.Value(telemetry.AttrKey)
			require.Equal(t, activity.ShortKey(b.record("1").Key), key.AsString())
			require.Len(t, key.AsString(), 12)
			scope, _ := attrs.Value(telemetry.AttrScope)
			require.Equal(t, "workflow_id", scope.AsString())
			action, _ := attrs.Value(telemetry.AttrAction)
			actions = append(actions, action.AsString())
			for _, a := range s.Attributes() {
				require.NotContains(t, a.Value.Emit(), "EUR")
			}
		}
		require.Equal(t, []string{"dedupe.reserve", "dedupe.settle", "dedupe.reserve"}, names)
		require.Equal(t, []string{"acquire", "complete", "replay"}, actions)
	})

	t.Run("metrics are those declared, with those attributes and no key or ID", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		for _, arg := range []string{"10 EUR", "10 EUR", "99 EUR"} {
			_, _ = b.run(1, counted(new(int)), arg)
		}
		var rm metricdata.ResourceMetrics
		require.NoError(t, b.metrics.Collect(context.Background(), &rm))
		seen := map[string]bool{}
		for _, scope := range rm.ScopeMetrics {
			for _, m := range scope.Metrics {
				i := slices.IndexFunc(telemetry.Metrics, func(d telemetry.Metric) bool { return d.Name == m.Name })
				require.GreaterOrEqual(t, i, 0, m.Name)
				declared := telemetry.Metrics[i]
				require.Equal(t, declared.Unit, m.Unit)
				require.Equal(t, declared.Description, m.Description)
				seen[m.Name] = true
				var sets []attribute.Set
				switch data := m.Data.(type) {
				case metricdata.Sum[int64]:
					for _, p := range data.DataPoints {
						sets = append(sets, p.Attributes)
					}
				case metricdata.Histogram[float64]:
					for _, p := range data.DataPoints {
						sets = append(sets, p.Attributes)
					}
				}
				for _, set := range sets {
					var keys []attribute.Key
					for _, kv := range set.ToSlice() {
						keys = append(keys, kv.Key)
					}
					require.ElementsMatch(t, declared.Attributes, keys, m.Name)
				}
			}
		}
		require.True(t, seen["dedupe.outcome"])
		require.True(t, seen["dedupe.latency"])
		require.Equal(t, map[string]int64{"executed": 1, "replayed": 1, "conflict": 1}, b.outcomes())
	})

	t.Run("without a provider nothing is needed", func(t *testing.T) {
		t.Parallel()
		b := setup(t, func(o *activity.Options) { o.MeterProvider = nil })
		_, err := b.run(1, counted(new(int)), "10 EUR")
		require.NoError(t, err)
	})
}
