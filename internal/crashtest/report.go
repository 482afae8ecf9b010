package crashtest

import (
	"fmt"
	"strings"
	"time"
)

// Report is what a run found out.
type Report struct {
	// Cells are in the order of the table: by window, policy and provider.
	Cells []Cell
	// WithoutDedupe is as in Options.
	WithoutDedupe bool
	// Elapsed is the time of the kills, without the start of the services.
	Elapsed time.Duration
}

// Total adds the cells up; it has no window, policy or provider.
func (r Report) Total() Cell {
	var t Cell
	for _, c := range r.Cells {
		t.Kills += c.Kills
		t.Orders += c.Orders
		t.Paid += c.Paid
		t.Held += c.Held
		t.Lost += c.Lost
		t.Bodies += c.Bodies
		t.Charges += c.Charges
		t.Again += c.Again
		t.Duplicates += c.Duplicates
		t.Broken = append(t.Broken, c.Broken...)
	}
	return t
}

// OK tells whether every promise was kept. Without deduplication none is made,
// and it tells whether nobody came to harm.
func (r Report) OK() bool {
	t := r.Total()
	return t.Duplicates == 0 && t.Lost == 0 && len(t.Broken) == 0
}

// Summary is the last line.
func (r Report) Summary() string {
	t := r.Total()
	return fmt.Sprintf("%s, %s, %s", count(t.Kills, "kill"), count(t.Duplicates, "duplicate charge"), count(t.Lost, "lost order"))
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// String returns the table and what there is to say about it, without the
// summary. Each line ends with a line break.
func (r Report) String() string {
	const row = "  %-10s  %-7s  %6v  %4v  %4v  %6v  %7v  %5v  %-46s  %s\n"
	var b strings.Builder
	fmt.Fprintf(&b, row, "policy", "keys", "orders", "paid", "held", "bodies", "charges", "again", "promised to the order that dies in that window", "")
	for i, c := range r.Cells {
		if i == 0 || r.Cells[i-1].Window != c.Window {
			fmt.Fprintf(&b, "worker killed %s\n", c.Window)
		}
		fmt.Fprintf(&b, row, c.policy(), c.Keys, c.Orders, c.Paid, c.Held, c.Bodies, c.Charges, c.Again, c.Promise(), c.verdict())
	}
	b.WriteString("\n")
	r.explain(&b)
	return b.String()
}

// explain says what the numbers of the table mean.
func (r Report) explain(b *strings.Builder) {
	t := r.Total()
	if !r.WithoutDedupe {
		fmt.Fprint(b, "The neighbours of that order die with it, each in a window of its own.\n")
		fmt.Fprintf(b, "%s made again, where bodies may run again and the provider ignores keys: no broken\n"+
			"promise, but the reason to send dedupe.Key to a provider that honours keys, or to choose verify.\n", count(t.Again, "charge"))
		fmt.Fprintf(b, "%s held for an operator: refuse never runs a second body.\n", count(t.Held, "order"))
	}
	for _, text := range t.Broken {
		fmt.Fprintf(b, "BROKEN: %s\n", text)
	}
	fmt.Fprintf(b, "%s, %d bodies, %s in %.0f s\n", count(t.Orders, "order"), t.Bodies, count(t.Charges, "charge"), r.Elapsed.Seconds())
}

// verdict is the last word on a cell.
func (c *Cell) verdict() string {
	switch {
	case len(c.Broken) > 0:
		return "BROKEN"
	case c.Policy != "":
		return "kept"
	case c.Duplicates > 0 || c.Lost > 0:
		return fmt.Sprintf("%d charged twice, %d lost", c.Duplicates, c.Lost)
	default:
		return ""
	}
}
