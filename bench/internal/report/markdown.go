package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Markdown is the generated part of docs/performance.md. charts are the files of
// Charts that were drawn, relative to the page.
func Markdown(r *Results, charts []Chart) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %s at version %s. Every figure is the median of the rounds, with the lowest and the highest in brackets. "+
		"The interval of a target holds the true median with the probability beside it.\n\n",
		r.MeasuredAt.UTC().Format("2006-01-02"), r.Commit)
	b.WriteString(table([]string{"machine", ""}, pairs(r.Machine)))
	b.WriteString("\n### Targets\n\n")
	b.WriteString(targetTable(r))
	b.WriteString(misses(r))
	for _, c := range charts {
		fmt.Fprintf(&b, "\n![%s](%s)\n", c.Title, c.File)
	}
	contenders := []string{Grouped, Single, PgBench, DBOS}
	b.WriteString("\n### A call that is new: reserve, then complete\n\n")
	b.WriteString(byCallers(r, Cycles, contenders))
	b.WriteString("\nOne cycle in detail, with 64 callers:\n\n")
	b.WriteString(details(r, 64, contenders, CyclesP99, CyclesClient, CyclesServer, CyclesWAL, CyclesHOT))
	b.WriteString("\n### A call that is replayed\n\n")
	b.WriteString(byCallers(r, Replays, []string{Grouped, Single, PgBench}))
	b.WriteString("\nOne replay in detail, with 64 callers:\n\n")
	b.WriteString(details(r, 64, []string{Grouped, Single, PgBench}, ReplaysP99, ReplaysClient, ReplaysServer))
	b.WriteString("\n### Size of the table\n\n")
	b.WriteString(bySize(r))
	b.WriteString("\n### Eviction, workflows, and the work in the process\n\n")
	b.WriteString(rest(r))
	b.WriteString("\n### Settings of the server\n\n")
	b.WriteString(table([]string{"setting", "value"}, pairs(r.Settings)))
	return b.String()
}

// targetTable lists the targets, what was measured and how sure that is.
func targetTable(r *Results) string {
	var rows [][]string
	for _, v := range r.Targets {
		row := []string{v.Name, "-", "-", v.Bound(), v.State}
		if v.State != NotMeasured {
			row[1] = Number(v.Median) + unit(v.Unit)
			row[2] = fmt.Sprintf("%s to %s (%.0f %%, %d)", Number(v.Low), Number(v.High), 100*v.Confidence, v.Rounds)
		}
		if v.State == Missed {
			row[4] = "**missed**"
		}
		rows = append(rows, row)
	}
	return table([]string{"", "median", "interval (probability, rounds)", "target", ""}, rows)
}

// misses says by how much each missed target was missed.
func misses(r *Results) string {
	var b strings.Builder
	for _, v := range r.Targets {
		if v.State == Missed {
			fmt.Fprintf(&b, "- Missed by %.0f %%: %s.\n", 100*v.By(), v.Name)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "\n" + b.String()
}

// byCallers has a row for each number of callers and a column for each contender.
func byCallers(r *Results, what string, contenders []string) string {
	var callers []int
	for _, by := range contenders {
		callers = append(callers, r.callers(what, by)...)
	}
	slices.Sort(callers)
	var rows [][]string
	for _, n := range slices.Compact(callers) {
		row := []string{Number(float64(n))}
		for _, by := range contenders {
			row = append(row, r.cell(Point{What: what, By: by, Callers: n}))
		}
		rows = append(rows, row)
	}
	header := append([]string{"callers"}, contenders...)
	for i := range contenders {
		header[i+1] += ", " + Measures[what].Unit
	}
	return table(header, rows)
}

// details has a row for each measure and a column for each contender.
func details(r *Results, callers int, contenders []string, measures ...string) string {
	var rows [][]string
	for _, what := range measures {
		row := []string{Measures[what].Title + ", " + Measures[what].Unit}
		for _, by := range contenders {
			row = append(row, r.cell(Point{What: what, By: by, Callers: callers}))
		}
		rows = append(rows, row)
	}
	return table(append([]string{""}, contenders...), rows)
}

func bySize(r *Results) string {
	var rows [][]string
	for _, n := range r.tableSizes() {
		rows = append(rows, []string{
			Count(n), r.cell(Point{What: SizedCycles, By: Grouped, Callers: 64, Rows: n}),
			r.cell(Point{What: RowBytes, By: Grouped, Rows: n}), r.cell(Point{What: IndexBytes, By: Grouped, Rows: n}),
		})
	}
	return table([]string{"rows before", "cycles/s with 64 callers", "heap, bytes for a record", "indexes, bytes for a record"}, rows)
}

// rest lists every figure that stands in no table of its own.
func rest(r *Results) string {
	shown := []string{Eviction, Foreground, ForegroundP99, Evicted, Workflows, Interceptor, InterceptorAll, Fingerprint, FingerprintAll}
	var rows [][]string
	for _, what := range shown {
		for _, s := range r.Medians {
			if s.What == what {
				rows = append(rows, []string{Measures[what].Title, s.By, r.cell(s.Point) + unit(s.Unit)})
			}
		}
	}
	return table([]string{"", "", ""}, rows)
}

// cell is a figure with its extremes.
func (r *Results) cell(p Point) string {
	s, ok := r.Summary(p)
	switch {
	case !ok:
		return "-"
	case s.Low == s.High:
		return Number(s.Median)
	default:
		return fmt.Sprintf("%s (%s to %s)", Number(s.Median), Number(s.Low), Number(s.High))
	}
}

func pairs(values map[string]string) [][]string {
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		rows = append(rows, []string{name, values[name]})
	}
	return rows
}

func table(header []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) {
		for i, c := range cells {
			cells[i] = strings.ReplaceAll(c, "|", "\\|")
		}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	line(header)
	line(slices.Repeat([]string{"---"}, len(header)))
	for _, row := range rows {
		line(row)
	}
	return b.String()
}
