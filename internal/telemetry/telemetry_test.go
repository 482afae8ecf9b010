package telemetry_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/metric"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/goleak"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/telemetry"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAMeasuredStoreIsMaintainedIfItsStoreIs(t *testing.T) {
	t.Parallel()
	memory, err := memstore.New(memstore.Options{})
	require.NoError(t, err)
	tel, err := telemetry.New(nil, nil)
	require.NoError(t, err)
	_, ok := store.As[store.Maintained](tel.Store(memory))
	require.True(t, ok)
	_, ok = store.As[store.Maintained](tel.Store(struct{ store.Store }{memory}))
	require.False(t, ok)
}

// execute is what an execution emits that runs its body and settles.
func execute(ctx context.Context, t *telemetry.Telemetry) {
	y := t.Type("default", "ChargePayment")
	ctx, span := t.Start(ctx, telemetry.SpanExecution, func() []attribute.KeyValue { return nil })
	y.InFlight(ctx, 1)
	span.Decided("acquire", "")
	span.LinkTo("")
	span.Settled("complete", "applied")
	span.Ended(telemetry.Executed)
	y.Ended(ctx, "workflow", telemetry.Executed, time.Millisecond)
	y.InFlight(ctx, -1)
	span.End()
}

func TestAnExecutionThatNobodyWatchesCostsTwoAllocations(t *testing.T) {
	tel, err := telemetry.New(tracenoop.NewTracerProvider(), noop.NewMeterProvider())
	require.NoError(t, err)
	require.LessOrEqual(t, testing.AllocsPerRun(1000, func() { execute(context.Background(), tel) }), 2.)
}

func BenchmarkExecution(b *testing.B) {
	for name, meters := range map[string]func() (*telemetry.Telemetry, error){
		"nobody watches": func() (*telemetry.Telemetry, error) { return telemetry.New(nil, nil) },
		"metrics": func() (*telemetry.Telemetry, error) {
			return telemetry.New(nil, metric.NewMeterProvider(metric.WithReader(metric.NewManualReader())))
		},
	} {
		b.Run(name, func(b *testing.B) {
			tel, err := meters()
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				execute(b.Context(), tel)
			}
		})
	}
}
