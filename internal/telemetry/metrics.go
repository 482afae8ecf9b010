package telemetry

import "go.opentelemetry.io/otel/attribute"

// Attributes of metrics, which take few values; those of the first two stand on
// spans as well.
const (
	AttrActivityType = attribute.Key("activity_type")
	AttrSource       = attribute.Key("source")
	AttrOutcome      = attribute.Key("outcome")
	AttrNamespace    = attribute.Key("namespace")
	AttrOperation    = attribute.Key("operation")
)

// Kind is the kind of an instrument.
type Kind string

// The kinds.
const (
	Counter       Kind = "counter"
	UpDownCounter Kind = "up-down counter"
	Gauge         Kind = "gauge"
	Histogram     Kind = "histogram"
)

// Metric declares one instrument.
type Metric struct {
	Name              string
	Kind              Kind
	Unit, Description string
	Attributes        []attribute.Key
}

var (
	ofType      = []attribute.Key{AttrNamespace, AttrActivityType}
	ofExecution = []attribute.Key{AttrNamespace, AttrActivityType, AttrSource, AttrOutcome}

	ofCompletion = []attribute.Key{AttrNamespace, AttrActivityType, AttrOutcome}
)

// The instruments.
var (
	OutcomeMetric = Metric{"dedupe.outcome", Counter, "{execution}",
		"Executions of deduplicated activities, and of effects within them, by how they ended.", ofExecution}
	LatencyMetric = Metric{"dedupe.latency", Histogram, "s",
		"Time that an execution spent on its record, waiting included, the body not.", ofExecution}
	InFlightMetric = Metric{"dedupe.in_flight", UpDownCounter, "{execution}",
		"Executions of deduplicated activities under way, waiting or in the body.", ofType}
	WaitMetric = Metric{"dedupe.wait", Counter, "{execution}",
		"Executions that had to wait for another one, or for the store.", ofType}
	TakeoverMetric = Metric{"dedupe.takeover", Counter, "{execution}",
		"Executions that took a call over from one that left no outcome.", ofType}
	UnprotectedMetric = Metric{"dedupe.unprotected", Counter, "{execution}",
		"Bodies that ran without a record because the store could not be reached.", ofType}
	LeaseLostMetric = Metric{"dedupe.lease.lost", Counter, "{execution}",
		"Bodies cancelled because another execution took their call over.", ofType}
	RenewalMetric = Metric{"dedupe.lease.renewal", Counter, "{lease}",
		"Leases that were renewed (outcome renewed), that another execution had (lost), that somebody had locked (locked), or whose renewal the store failed (error).",
		[]attribute.Key{AttrOutcome}}
	StaleWriteMetric = Metric{"dedupe.stale_write_rejected", Counter, "{settlement}",
		"Settlements refused because another execution owned the record.", ofType}
	SettleFailedMetric = Metric{"dedupe.settle.failed", Counter, "{settlement}",
		"Executions whose end could not be recorded.", ofType}
	CompletionMetric = Metric{"dedupe.completion", Counter, "{completion}",
		"Completions from outside of the activity, by how they ended.", ofCompletion}
	StoreLatencyMetric = Metric{"dedupe.store.latency", Histogram, "s",
		"Time of one call of the store, its own retries included, by operation; outcome is ok, error or canceled.",
		[]attribute.Key{AttrOperation, AttrOutcome}}
	PassMetric = Metric{"dedupe.eviction.pass", Counter, "{pass}",
		"Passes of the evictor; outcome is ok or error.", []attribute.Key{AttrOutcome}}
	EvictedMetric = Metric{"dedupe.eviction.removed", Counter, "{record}",
		"Records that the evictor of this worker removed.", []attribute.Key{}}
	HeldMetric = Metric{"dedupe.held", Gauge, "{record}",
		"Records that wait for an operator, as the evictor counted them last; every worker reports all of them.", []attribute.Key{}}
)

// Metrics lists every instrument.
var Metrics = []Metric{
	OutcomeMetric, LatencyMetric, InFlightMetric, WaitMetric, TakeoverMetric, UnprotectedMetric,
	LeaseLostMetric, RenewalMetric, StaleWriteMetric, SettleFailedMetric, CompletionMetric, StoreLatencyMetric,
	PassMetric, EvictedMetric, HeldMetric,
}
