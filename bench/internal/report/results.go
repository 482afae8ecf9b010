// Package report keeps what was measured and says what it means: medians, ratios
// formed within one round, targets, tables and charts. It measures nothing itself
// and must not know how a figure came about.
package report

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// Results is everything that one run of the benchmarks has measured.
type Results struct {
	// MeasuredAt is when the run began.
	MeasuredAt time.Time `json:"measured_at"`
	// Commit is the version of the code, with a mark if it was changed.
	Commit string `json:"commit"`
	// Machine describes where, name by name.
	Machine map[string]string `json:"machine"`
	// Settings are the server's settings that differ from Postgres's defaults,
	// and those that durability hangs on, as the server told them.
	Settings map[string]string `json:"settings"`
	// Flags are the program's, as they were in force.
	Flags map[string]string `json:"flags"`
	// Medians and Targets are derived from Measurements; see Derive.
	Medians []Summary `json:"medians"`
	Targets []Verdict `json:"targets"`
	// Measurements are the single figures of every round.
	Measurements []Measurement `json:"measurements"`
}

// Point names one figure.
type Point struct {
	// What was measured: one of the Measures.
	What string `json:"what"`
	// By names who did it.
	By string `json:"by"`
	// Callers is how many did it at once; 0 where that has no meaning.
	Callers int `json:"callers,omitempty"`
	// Rows is how many rows the table held before; 0 where that has no meaning.
	Rows int `json:"rows,omitempty"`
}

// Measurement is one figure of one round. Figures of one round were taken in
// turns, within seconds of each other, and may be compared.
type Measurement struct {
	Point
	Round int     `json:"round"`
	Value float64 `json:"value"`
}

// Summary is a figure over all rounds.
type Summary struct {
	Point
	Unit   string  `json:"unit"`
	Rounds int     `json:"rounds"`
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// Add keeps a figure.
func (r *Results) Add(p Point, round int, value float64) {
	r.Measurements = append(r.Measurements, Measurement{Point: p, Round: round, Value: value})
}

// Values returns the figures of a point by their rounds.
func (r *Results) Values(p Point) map[int]float64 {
	values := map[int]float64{}
	for _, m := range r.Measurements {
		if m.Point == p {
			values[m.Round] = m.Value
		}
	}
	return values
}

// Derive fills in Medians and Targets.
func (r *Results) Derive() {
	r.Medians, r.Targets = nil, nil
	seen := map[Point]bool{}
	for _, m := range r.Measurements {
		if seen[m.Point] {
			continue
		}
		seen[m.Point] = true
		values := sorted(r.Values(m.Point))
		r.Medians = append(r.Medians, Summary{
			Point: m.Point, Unit: Measures[m.What].Unit, Rounds: len(values),
			Median: median(values), Low: values[0], High: values[len(values)-1],
		})
	}
	for _, t := range Targets(r) {
		r.Targets = append(r.Targets, t.evaluate())
	}
}

// Summary returns the summary of a point, if it was measured. Derive comes first.
func (r *Results) Summary(p Point) (Summary, bool) {
	for _, s := range r.Medians {
		if s.Point == p {
			return s, true
		}
	}
	return Summary{}, false
}

// Write writes the results as JSON.
func (r *Results) Write(path string) error {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("bench: results: %w", err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("bench: results: %w", err)
	}
	return nil
}

// Read reads what Write wrote, and derives again what is derived.
func Read(path string) (*Results, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("bench: results: %w", err)
	}
	var r Results
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("bench: results in %s: %w", path, err)
	}
	r.Derive()
	return &r, nil
}
