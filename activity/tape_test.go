package activity_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
)

// tape takes down everything that executions emit: spans, metrics, and what this
// module logs. Temporal's own lines quote what a body returns, and are left out.
type tape struct {
	t       *testing.T
	spans   *tracetest.SpanRecorder
	metrics *metric.ManualReader
	tracers *trace.TracerProvider
	meters  *metric.MeterProvider

	mu    sync.Mutex
	lines []string
	slog  bytes.Buffer
}

func newTape(t *testing.T) *tape {
	t.Helper()
	p := &tape{t: t, spans: tracetest.NewSpanRecorder(), metrics: metric.NewManualReader()}
	p.tracers = trace.NewTracerProvider(trace.WithSpanProcessor(p.spans))
	p.meters = metric.NewMeterProvider(metric.WithReader(p.metrics))
	return p
}

// providers returns the change of options that puts a bundle on the tape.
func (p *tape) providers() func(*activity.Options) {
	return func(o *activity.Options) {
		o.TracerProvider, o.MeterProvider = p.tracers, p.meters
		o.Logger = slog.New(slog.NewTextHandler(p, nil))
	}
}

// Write implements io.Writer, for what is logged outside of activities.
func (p *tape) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.slog.Write(b)
}

func (p *tape) log(level, message string, keyvals []any) {
	if !strings.HasPrefix(message, "dedupe: ") {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = append(p.lines, fmt.Sprintln(append([]any{level, message}, keyvals...)...))
}

func (p *tape) Debug(message string, keyvals ...any) { p.log("DEBUG", message, keyvals) }
func (p *tape) Info(message string, keyvals ...any)  { p.log("INFO", message, keyvals) }
func (p *tape) Warn(message string, keyvals ...any)  { p.log("WARN", message, keyvals) }
func (p *tape) Error(message string, keyvals ...any) { p.log("ERROR", message, keyvals) }

// logged returns what was logged, inside activities and outside.
func (p *tape) logged() (inside []string, outside string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.lines...), p.slog.String()
}

// collect reads all metrics by name.
func (p *tape) collect() map[string]metricdata.Metrics {
	p.t.Helper()
	var rm metricdata.ResourceMetrics
	require.NoError(p.t, p.metrics.Collect(context.Background(), &rm))
	all := map[string]metricdata.Metrics{}
	for _, scope := range rm.ScopeMetrics {
		for _, m := range scope.Metrics {
			all[m.Name] = m
		}
	}
	return all
}

// total adds up all points of a counter.
func (p *tape) total(name string) int64 { return p.with(name, "") }

// with adds up those that have the outcome.
func (p *tape) with(name, outcome string) (n int64) {
	p.t.Helper()
	for _, point := range p.collect()[name].Data.(metricdata.Sum[int64]).DataPoints {
		if has, _ := point.Attributes.Value("outcome"); outcome == "" || has.AsString() == outcome {
			n += point.Value
		}
	}
	return n
}
