package dedupe

import "github.com/seed5aa7bdf6/temporal-dedupe/internal/telemetry"

// Metric declares one instrument that the deduplication reports to the meter
// provider.
type Metric struct {
	// Name is the instrument's name, such as dedupe.outcome.
	Name string
	// Kind is "counter", "up-down counter", "gauge" or "histogram".
	Kind string
	// Unit is the unit in UCUM: "s", or a noun in braces.
	Unit string
	// Description says what is counted or measured.
	Description string
	// Attributes are the keys of all its attributes. None ever holds a key, an
	// ID, or anything of an argument or a result.
	Attributes []string
}

// Metrics lists every instrument that there is. docs/telemetry.md has the same
// table, with the values that attributes take.
func Metrics() []Metric {
	out := make([]Metric, len(telemetry.Metrics))
	for i, m := range telemetry.Metrics {
		out[i] = Metric{Name: m.Name, Kind: string(m.Kind), Unit: m.Unit, Description: m.Description}
		for _, a := range m.Attributes {
			out[i].Attributes = append(out[i].Attributes, string(a))
		}
	}
	return out
}
