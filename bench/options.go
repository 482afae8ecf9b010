package main

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// options are the program's flags.
type options struct {
	flags *flag.FlagSet

	rounds        int
	duration      time.Duration
	callers       numbers
	replayCallers numbers
	replayRows    int
	sizes         numbers
	evictionRows  int
	evictionBatch int
	pairs         int
	orders        int
	only          names
	root          string
	out           string
	docs          string
	render        bool
	cpuProfile    string
}

func parseFlags(args []string, usage io.Writer) (options, error) {
	o := options{
		callers: numbers{1, 8, 64, 256}, replayCallers: numbers{1, 8, 64},
		sizes: numbers{10_000, 1_000_000, 10_000_000},
	}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(usage)
	o.flags = f
	quick := f.Bool("quick", false, "shorter, with fewer rounds and smaller tables; other flags still count")
	f.IntVar(&o.rounds, "rounds", 5, "rounds, in each of which every contender has its turn")
	f.DurationVar(&o.duration, "duration", 3*time.Second, "`length` of a turn; pgbench rounds it up to seconds")
	f.Var(&o.callers, "callers", "how many call at once")
	f.Var(&o.replayCallers, "replay-callers", "how many replay at once")
	f.IntVar(&o.replayRows, "replay-rows", 100_000, "completed records that are replayed")
	f.Var(&o.sizes, "sizes", "sizes of the table, in rows, in ascending order")
	f.IntVar(&o.evictionRows, "eviction-rows", 400_000, "expired rows for an evictor alone, and again beside the foreground")
	f.IntVar(&o.evictionBatch, "eviction-batch", store.DefaultEvictionBatch, "rows that one transaction evicts")
	f.IntVar(&o.pairs, "pairs", 9, "pairs of runs with and without the plugin")
	f.IntVar(&o.orders, "orders", 16, "workflows at once")
	f.Var(&o.only, "only", "experiments to run: "+strings.Join(experimentNames(), ", ")+" (default all)")
	f.StringVar(&o.root, "root", "..", "directory of the library's module")
	f.StringVar(&o.out, "out", "results.json", "`file` for the results")
	f.StringVar(&o.docs, "docs", "", "`directory` of performance.md, which gets tables and charts (default none)")
	f.BoolVar(&o.render, "render", false, "measure nothing: read the file of results, and print and write what it says")
	f.StringVar(&o.cpuProfile, "cpuprofile", "", "`file` for a CPU profile of this process, which is also the library's; best with -only")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if *quick {
		preset := map[string]string{
			"rounds": "2", "duration": "1s", "sizes": "10000,200000", "replay-rows": "20000",
			"eviction-rows": "200000", "pairs": "3",
		}
		f.Visit(func(set *flag.Flag) { delete(preset, set.Name) })
		for name, value := range preset {
			if err := f.Set(name, value); err != nil {
				return o, err
			}
		}
	}
	return o, o.validate()
}

func (o options) validate() error {
	bad := func(name, text string) error { return fmt.Errorf("bench: -%s: %s", name, text) }
	switch {
	case o.flags.NArg() > 0:
		return fmt.Errorf("bench: unexpected argument %q", o.flags.Arg(0))
	case o.rounds < 1:
		return bad("rounds", "want at least 1")
	case o.pairs < 1:
		return bad("pairs", "want at least 1")
	case o.duration < 100*time.Millisecond:
		return bad("duration", "want at least 100ms")
	case o.orders < 1, o.evictionBatch < 1, o.evictionRows < 1, o.replayRows < 1:
		return bad("orders, -eviction-batch, -eviction-rows, -replay-rows", "want at least 1")
	case len(o.sizes) < 2 || !slices.IsSorted(o.sizes):
		return bad("sizes", "want two or more, in ascending order")
	}
	for _, name := range o.only {
		if !slices.Contains(experimentNames(), name) {
			return bad("only", fmt.Sprintf("there is no %q", name))
		}
	}
	return nil
}

// values returns the flags that bear on the figures.
func (o options) values() map[string]string {
	values := map[string]string{}
	o.flags.VisitAll(func(f *flag.Flag) {
		if !slices.Contains([]string{"quick", "root", "out", "docs", "render", "cpuprofile"}, f.Name) {
			values[f.Name] = f.Value.String()
		}
	})
	return values
}

// numbers is a flag with positive numbers.
type numbers []int

func (n *numbers) String() string {
	texts := make([]string, len(*n))
	for i, v := range *n {
		texts[i] = strconv.Itoa(v)
	}
	return strings.Join(texts, ",")
}

func (n *numbers) Set(text string) error {
	*n = nil
	for s := range strings.SplitSeq(text, ",") {
		v, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil || v < 1 {
			return fmt.Errorf("%q is no positive number", s)
		}
		*n = append(*n, v)
	}
	return nil
}

// names is a flag with names.
type names []string

func (n *names) String() string { return strings.Join(*n, ",") }

func (n *names) Set(text string) error {
	*n = strings.Split(text, ",")
	return nil
}
