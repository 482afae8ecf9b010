package report

import (
	"fmt"
	"math"
	"slices"
)

// Target is what a figure has to reach.
type Target struct {
	// Name says what is compared.
	Name string
	// AtMost is set where less is better.
	AtMost bool
	// Want is the bound.
	Want float64
	// Unit is empty for ratios.
	Unit string
	// Values are the figures of the rounds, sorted.
	Values []float64
}

// Verdict tells whether a target was reached.
type Verdict struct {
	Name       string  `json:"name"`
	Unit       string  `json:"unit,omitempty"`
	AtMost     bool    `json:"at_most,omitempty"`
	Want       float64 `json:"want"`
	Rounds     int     `json:"rounds"`
	Median     float64 `json:"median"`
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	Confidence float64 `json:"confidence"`
	// State is ok, MISSED or "not measured".
	State string `json:"state"`
}

// The states of a verdict.
const (
	OK          = "ok"
	Missed      = "MISSED"
	NotMeasured = "not measured"
)

// Targets lists the targets and what was measured for each.
func Targets(r *Results) []Target {
	at := func(what, by string, callers int) map[int]float64 {
		return r.Values(Point{What: what, By: by, Callers: callers})
	}
	cycles := func(by string, callers int) map[int]float64 { return at(Cycles, by, callers) }
	alone := func(what, by string) []float64 { return sorted(at(what, by, 0)) }
	var pgbench []map[int]float64
	for _, callers := range r.callers(Cycles, PgBench) {
		pgbench = append(pgbench, cycles(PgBench, callers))
	}
	small, large, sized := r.sizes()
	return []Target{
		{Name: "cycles, this library / pgbench, 64 callers", Want: 4, Values: ratios(cycles(Grouped, 64), cycles(PgBench, 64))},
		{Name: "cycles, this library with 256 callers / pgbench at its best", Want: 5, Values: ratios(cycles(Grouped, 256), best(pgbench...))},
		{Name: "cycles, this library / pgbench, 1 caller", Want: 0.9, Values: ratios(cycles(Grouped, 1), cycles(PgBench, 1))},
		{Name: "cycles of this library / steps of DBOS, 64 callers", Want: 5, Values: ratios(cycles(Grouped, 64), cycles(DBOS, 64))},
		{Name: "replays of this library / pgbench reads, 64 callers", Want: 3, Values: ratios(at(Replays, Grouped, 64), at(Replays, PgBench, 64))},
		{Name: fmt.Sprintf("cycles at %s rows / at %s rows, 64 callers", Count(large), Count(small)), Want: 0.8, Values: sized},
		{Name: "workflows, with the plugin / without", Want: 0.95, Values: ratios(at(Workflows, With, 0), at(Workflows, Without, 0))},
		{Name: "heap-only updates", Want: 95, Unit: "%", Values: sorted(at(CyclesHOT, Grouped, 64))},
		{Name: "interceptor, time of an execution", AtMost: true, Want: 8000, Unit: "ns", Values: alone(Interceptor, Grouped)},
		{Name: "interceptor, allocations of an execution", AtMost: true, Want: 40, Unit: "allocs", Values: alone(InterceptorAll, Grouped)},
		{Name: "fingerprint of ten fields, time", AtMost: true, Want: 4000, Unit: "ns", Values: alone(Fingerprint, Grouped)},
		{Name: "fingerprint of ten fields, allocations", AtMost: true, Want: 30, Unit: "allocs", Values: alone(FingerprintAll, Grouped)},
		{Name: "eviction, one evictor alone", Want: 50_000, Unit: "rows/s", Values: alone(Eviction, Grouped)},
		{
			Name: "99th percentile with four evictors / without, 64 callers", AtMost: true, Want: 1.5,
			Values: ratios(at(ForegroundP99, Evictors, 64), at(ForegroundP99, Alone, 64)),
		},
	}
}

// callers lists the numbers of callers that a figure was measured with.
func (r *Results) callers(what, by string) []int {
	var found []int
	for _, m := range r.Measurements {
		if m.What == what && m.By == by && !slices.Contains(found, m.Callers) {
			found = append(found, m.Callers)
		}
	}
	slices.Sort(found)
	return found
}

// sizes returns the smallest and the largest table, and the ratios of their rates.
func (r *Results) sizes() (small, large int, values []float64) {
	rows := r.tableSizes()
	if len(rows) < 2 {
		return 10_000, 10_000_000, nil
	}
	small, large = rows[0], rows[len(rows)-1]
	of := func(rows int) map[int]float64 {
		return r.Values(Point{What: SizedCycles, By: Grouped, Callers: 64, Rows: rows})
	}
	return small, large, ratios(of(large), of(small))
}

func (r *Results) tableSizes() []int {
	var found []int
	for _, m := range r.Measurements {
		if m.What == SizedCycles && !slices.Contains(found, m.Rows) {
			found = append(found, m.Rows)
		}
	}
	slices.Sort(found)
	return found
}

func (t Target) evaluate() Verdict {
	v := Verdict{Name: t.Name, Unit: t.Unit, AtMost: t.AtMost, Want: t.Want, Rounds: len(t.Values), State: NotMeasured}
	if len(t.Values) == 0 {
		return v // JSON has no NaN
	}
	v.Median = median(t.Values)
	v.Low, v.High, v.Confidence = interval(t.Values)
	v.State = OK
	if t.AtMost && v.Median > t.Want || !t.AtMost && v.Median < t.Want {
		v.State = Missed
	}
	return v
}

// By returns by how much a missed target was missed, as a share of it.
func (v Verdict) By() float64 { return math.Abs(v.Median-v.Want) / v.Want }

// Bound is the target as people write it.
func (v Verdict) Bound() string {
	sign := "≥ "
	if v.AtMost {
		sign = "≤ "
	}
	return sign + Number(v.Want) + unit(v.Unit)
}

// Line is the verdict as the program prints it: name, figure, target, state.
func (v Verdict) Line() string {
	figure := "-"
	if v.State != NotMeasured {
		figure = Number(v.Median) + unit(v.Unit)
	}
	return fmt.Sprintf("%-60s %14s  %-14s %s", v.Name, figure, v.Bound(), v.State)
}

func unit(u string) string {
	if u == "" {
		return ""
	}
	return " " + u
}
