package command

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// Pages are of 8 KiB: stats reads a table of up to 1 GiB, and of a larger one, or
// for --estimate, a sample.
const (
	statsPages    = 1 << 17
	estimatePages = 1 << 10
)

// statsJSON is stats as programs read it.
type statsJSON struct {
	At           time.Time    `json:"at"`
	Estimated    bool         `json:"estimated"`
	Pages        int64        `json:"pages"`
	SampledPages int64        `json:"sampled_pages"`
	Total        countsJSON   `json:"total"`
	Types        []countsJSON `json:"types"`
	Held         int64        `json:"held"`
	OldestHeld   *time.Time   `json:"oldest_held,omitempty"`
	OldestExpiry *time.Time   `json:"oldest_expiry,omitempty"`
	TableBytes   int64        `json:"table_bytes"`
	IndexBytes   int64        `json:"index_bytes"`
}

type countsJSON struct {
	ActivityType   string     `json:"activity_type,omitempty"`
	Records        int64      `json:"records"`
	InProgress     int64      `json:"in_progress"`
	Completed      int64      `json:"completed"`
	Failed         int64      `json:"failed"`
	Live           int64      `json:"live"`
	PastLease      int64      `json:"past_lease"`
	Pending        int64      `json:"pending"`
	Held           int64      `json:"held"`
	EffectPossible int64      `json:"effect_possible"`
	Tombstones     int64      `json:"tombstones"`
	Expired        int64      `json:"expired"`
	Oldest         *time.Time `json:"oldest,omitempty"`
}

func newStats(env Env) *cobra.Command {
	var flags adminFlags
	var output outputFlag
	var estimate, exact bool
	c := &cobra.Command{
		Use:   "stats",
		Short: "Count the records by state and activity type",
		Long: `Count the records by state and activity type, with the size of the table.

A table of up to 1 GiB is read once, without the results that are stored out of
line. Of a larger one 1 GiB of pages is read at random, and the counts are estimates,
marked with "about"; --estimate reads 8 MiB of any table, --exact reads all of it,
however large, for --timeout at most. Held records, the oldest expiry and the sizes
are always exact: they are answered from indexes.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := output.validate(); err != nil {
				return err
			}
			options := store.StatsOptions{MaxPages: statsPages}
			switch {
			case estimate && exact:
				return usagef("dedupe: --estimate and --exact exclude each other")
			case estimate:
				options.MaxPages = estimatePages
			case exact:
				options.MaxPages = 0
			}
			a, err := flags.open(c.Context(), env, reads)
			if err != nil {
				return err
			}
			defer a.close()
			st, err := a.Stats(c.Context(), options)
			if err != nil {
				return err
			}
			return output.print(env.Out, newStatsJSON(st), func(out io.Writer) error { return printStats(out, st) })
		},
	}
	flags.register(c)
	c.Flags().BoolVar(&estimate, "estimate", false, "read a sample of 8 MiB")
	c.Flags().BoolVar(&exact, "exact", false, "read the whole table")
	output.register(c)
	return c
}

func newStatsJSON(st store.Stats) statsJSON {
	counts := func(name string, c store.Counts) countsJSON {
		return countsJSON{name, c.Records, c.InProgress, c.Completed, c.Failed, c.Live, c.PastLease,
			c.Pending, c.Held, c.EffectPossible, c.Tombstones, c.Expired, moment(c.Oldest)}
	}
	j := statsJSON{
		At: st.At, Estimated: st.Estimated, Pages: st.Pages, SampledPages: st.SampledPages,
		Total: counts("", st.Total), Types: []countsJSON{}, Held: st.Held,
		OldestHeld: moment(st.OldestHeld), OldestExpiry: moment(st.OldestExpiry),
		TableBytes: st.TableBytes, IndexBytes: st.IndexBytes,
	}
	for _, t := range st.Types {
		j.Types = append(j.Types, counts(t.ActivityType, t.Counts))
	}
	return j
}

func printStats(out io.Writer, st store.Stats) error {
	about := ""
	if st.Estimated {
		about = "about "
	}
	facts := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		_, _ = fmt.Fprintf(facts, "%s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	t := st.Total
	line("records", "%s%d", about, t.Records)
	line("in progress", "%s%d, %d of them pending: %d owned, %d past their lease", about, t.InProgress, t.Pending, t.Live, t.PastLease)
	line("completed", "%s%d, %d of them without their result", about, t.Completed, t.Tombstones)
	line("failed", "%s%d", about, t.Failed)
	line("held", "%d, the oldest since %s", st.Held, since(st.OldestHeld, st.At))
	line("effect possible", "%s%d that nobody owns", about, t.EffectPossible)
	line("expired", "%s%d that eviction would remove", about, t.Expired)
	line("oldest record", "%s%s", about, since(t.Oldest, st.At))
	line("oldest expiry", "%s", since(st.OldestExpiry, st.At))
	line("table", "%s with results, and %s of indexes", size(st.TableBytes), size(st.IndexBytes))
	line("read", "%d of %d pages", st.SampledPages, st.Pages)
	if err := facts.Flush(); err != nil || len(st.Types) == 0 {
		return err
	}
	_, _ = fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "ACTIVITY\tRECORDS\tOWNED\tPAST LEASE\tCOMPLETED\tFAILED\tHELD\tEXPIRED\tOLDEST")
	for _, t := range st.Types {
		row := or(t.ActivityType)
		for _, n := range []int64{t.Records, t.Live, t.PastLease, t.Completed, t.Failed, t.Held, t.Expired} {
			row += fmt.Sprintf("\t%s%d", about, n)
		}
		_, _ = fmt.Fprintf(table, "%s\t%s%s\n", row, about, when(t.Oldest))
	}
	return table.Flush()
}

// since writes a time with how long it is ago, or will be.
func since(t, now time.Time) string {
	switch d := now.Sub(t); {
	case t.IsZero():
		return "-"
	case d < 0:
		return fmt.Sprintf("%s, in %s", when(t), span(-d))
	default:
		return fmt.Sprintf("%s, %s ago", when(t), span(d))
	}
}

// size writes a number of bytes as people say it.
func size(bytes int64) string {
	for _, unit := range []struct {
		name string
		size int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if bytes >= unit.size {
			return fmt.Sprintf("%.1f %s", float64(bytes)/float64(unit.size), unit.name)
		}
	}
	return fmt.Sprintf("%d B", bytes)
}
