package telemetry

import (
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Outcome is how an execution ended, as an attribute of metrics.
type Outcome string

// The outcomes.
const (
	Executed           Outcome = "executed"
	Failed             Outcome = "failed"
	Pending            Outcome = "pending"
	Replayed           Outcome = "replayed"
	ReplayedOther      Outcome = "replayed_other_execution"
	ReplayedFailure    Outcome = "replayed_failure"
	Superseded         Outcome = "superseded"
	Conflict           Outcome = "conflict"
	OtherExecution     Outcome = "other_execution"
	FingerprintUnknown Outcome = "fingerprint_unknown"
	OutcomeUnknown     Outcome = "outcome_unknown"
	InFlight           Outcome = "in_flight"
	Canceled           Outcome = "canceled"
	DeadlinePassed     Outcome = "deadline_passed"
	StoreUnavailable   Outcome = "store_unavailable"
	StoreBusy          Outcome = "store_busy"
	Unprotected        Outcome = "unprotected"
	ResultTooLarge     Outcome = "result_too_large"
	RecordCorrupt      Outcome = "record_corrupt"
)

// Metric declares one instrument.
type Metric struct {
	Name, Unit, Description string
	Attributes              []attribute.Key
}

// The instruments.
var (
	OutcomeMetric = Metric{"dedupe.outcome", "", "Executions of deduplicated activities, by how they ended.",
		[]attribute.Key{AttrActivityType, AttrSource, AttrOutcome}}
	LatencyMetric = Metric{"dedupe.latency", "s", "Time that an execution spent on its record, waiting included, the body not.",
		[]attribute.Key{AttrActivityType, AttrSource, AttrOutcome}}
	LeaseLostMetric = Metric{"dedupe.lease.lost", "", "Bodies cancelled because another execution took their call over.",
		[]attribute.Key{AttrActivityType}}
	StaleWriteMetric = Metric{"dedupe.stale_write_rejected", "", "Settlements refused because another execution owned the record.",
		[]attribute.Key{AttrActivityType}}
	SettleFailedMetric = Metric{"dedupe.settle.failed", "", "Executions whose end could not be recorded.",
		[]attribute.Key{AttrActivityType}}
)

// Metrics lists every instrument.
var Metrics = []Metric{OutcomeMetric, LatencyMetric, LeaseLostMetric, StaleWriteMetric, SettleFailedMetric}

// latencyBounds run from a quarter of a millisecond, a replay on a near
// database, to the half minute of a settlement's budget.
var latencyBounds = []float64{.00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

func (t *Telemetry) instruments(m metric.Meter) error {
	for declared, into := range map[*Metric]*metric.Int64Counter{
		&OutcomeMetric: &t.outcome, &LeaseLostMetric: &t.leaseLost,
		&StaleWriteMetric: &t.staleWrites, &SettleFailedMetric: &t.settleFails,
	} {
		c, err := m.Int64Counter(declared.Name, metric.WithDescription(declared.Description), metric.WithUnit(declared.Unit))
		if err != nil {
			return fmt.Errorf("%s: %w", declared.Name, err)
		}
		*into = c
	}
	h, err := m.Float64Histogram(LatencyMetric.Name, metric.WithDescription(LatencyMetric.Description),
		metric.WithUnit(LatencyMetric.Unit), metric.WithExplicitBucketBoundaries(latencyBounds...))
	if err != nil {
		return fmt.Errorf("%s: %w", LatencyMetric.Name, err)
	}
	t.latency = h
	return nil
}
