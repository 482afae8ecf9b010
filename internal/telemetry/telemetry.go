// Package telemetry holds what is emitted through OpenTelemetry: the spans, the
// instruments and their attributes. It uses the API only and is inert without a
// provider. It must not know what the values mean.
package telemetry

import (
	"fmt"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// Name is the instrumentation scope.
const Name = "github.com/seed5aa7bdf6/temporal-dedupe"

// Telemetry emits spans and metrics.
type Telemetry struct {
	tracer trace.Tracer

	outcome, waits, takeovers, unprotected, leaseLost, staleWrites, settleFails metric.Int64Counter
	renewals, passes, evicted                                                   metric.Int64Counter
	inFlight                                                                    metric.Int64UpDownCounter
	held                                                                        metric.Int64Gauge
	latency, storeLatency                                                       metric.Float64Histogram

	// storeCalls, renewed and passEnds are attribute sets, made once.
	storeCalls map[storeCall]attributes
	renewed    map[string]attributes
	passEnds   map[bool]attributes

	mu    sync.RWMutex
	types map[typeName]*Type
}

// New makes the instruments. nil providers are the global ones.
func New(tp trace.TracerProvider, mp metric.MeterProvider) (*Telemetry, error) {
	t := &Telemetry{tracer: tracer(tp), types: map[typeName]*Type{}}
	t.makeSets()
	if err := t.instruments(meter(mp)); err != nil {
		return nil, err
	}
	t.begin()
	return t, nil
}

func tracer(tp trace.TracerProvider) trace.Tracer {
	if tp == nil {
		tp = otel.GetTracerProvider()
	}
	return tp.Tracer(Name)
}

func meter(mp metric.MeterProvider) metric.Meter {
	if mp == nil {
		mp = otel.GetMeterProvider()
	}
	return mp.Meter(Name)
}

func (t *Telemetry) instruments(m metric.Meter) (err error) {
	for declared, into := range map[*Metric]*metric.Int64Counter{
		&OutcomeMetric: &t.outcome, &WaitMetric: &t.waits, &TakeoverMetric: &t.takeovers, &UnprotectedMetric: &t.unprotected,
		&LeaseLostMetric: &t.leaseLost, &StaleWriteMetric: &t.staleWrites, &SettleFailedMetric: &t.settleFails,
		&RenewalMetric: &t.renewals, &PassMetric: &t.passes, &EvictedMetric: &t.evicted,
	} {
		if *into, err = counter(m, *declared); err != nil {
			return err
		}
	}
	for declared, into := range map[*Metric]*metric.Float64Histogram{&LatencyMetric: &t.latency, &StoreLatencyMetric: &t.storeLatency} {
		if *into, err = m.Float64Histogram(declared.Name, metric.WithDescription(declared.Description),
			metric.WithUnit(declared.Unit), metric.WithExplicitBucketBoundaries(latencyBounds...)); err != nil {
			return fmt.Errorf("%s: %w", declared.Name, err)
		}
	}
	d := InFlightMetric
	if t.inFlight, err = m.Int64UpDownCounter(d.Name, metric.WithDescription(d.Description), metric.WithUnit(d.Unit)); err != nil {
		return fmt.Errorf("%s: %w", d.Name, err)
	}
	d = HeldMetric
	if t.held, err = m.Int64Gauge(d.Name, metric.WithDescription(d.Description), metric.WithUnit(d.Unit)); err != nil {
		return fmt.Errorf("%s: %w", d.Name, err)
	}
	return nil
}

func counter(m metric.Meter, d Metric) (metric.Int64Counter, error) {
	c, err := m.Int64Counter(d.Name, metric.WithDescription(d.Description), metric.WithUnit(d.Unit))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.Name, err)
	}
	return c, nil
}

// latencyBounds run from a quarter of a millisecond, a replay on a near
// database, to the half minute of a settlement's budget.
var latencyBounds = []float64{.00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
