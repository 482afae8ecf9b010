package crashtest

import (
	"cmp"
	"fmt"
	"io"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// Options says what [Run] kills, and where. The zero value is useful.
type Options struct {
	// Rounds is how often every cell is run; each time kills one worker.
	// Defaults to 1.
	Rounds int
	// WithoutDedupe shows what the same kills do to a worker without the
	// plugin.
	WithoutDedupe bool
	// Orders is how many orders share a worker that is killed. Defaults to 8.
	Orders int
	// Parallel is how many cells run at a time, each with a worker process.
	// Defaults to 8.
	Parallel int
	// DatabaseURL is the Postgres for the records, or a Redis: redis://... Migrations
	// are run there, and the records of this run removed in the end. Defaults to a
	// private Postgres.
	DatabaseURL string
	// TemporalAddress is the Temporal server, Namespace a namespace on it, by
	// default "default". Defaults to what package devserver finds or starts.
	TemporalAddress, Namespace string
	// Windows, Policies and Keys choose cells. Default to all.
	Windows  []Window
	Policies []store.TakeoverPolicy
	Keys     []Keys
	// Out receives a line for each step and each kill. Defaults to nowhere.
	Out io.Writer
	// WorkerLog receives what the workers write, which is many errors. Defaults
	// to nowhere.
	WorkerLog io.Writer
}

const defaultParallel = 8

// withDefaults fills what the zero value leaves open.
func (o Options) withDefaults() Options {
	o.Rounds = cmp.Or(o.Rounds, 1)
	o.Orders = cmp.Or(o.Orders, defaultOrders)
	o.Parallel = cmp.Or(o.Parallel, defaultParallel)
	if len(o.Windows) == 0 {
		o.Windows = Windows()
	}
	if len(o.Policies) == 0 {
		o.Policies = []store.TakeoverPolicy{store.Reexecute, store.Refuse, store.Verify}
	}
	if len(o.Keys) == 0 {
		o.Keys = []Keys{IgnoresKeys, HonoursKeys}
	}
	o.Out = cmp.Or(o.Out, io.Discard)
	return o
}

// validate names the first field that cannot be used.
func (o Options) validate() error {
	for _, n := range []struct {
		name  string
		value int
	}{{"Rounds", o.Rounds}, {"Orders", o.Orders}, {"Parallel", o.Parallel}} {
		if n.value < 0 {
			return fmt.Errorf("crashtest: Options.%s is %d, want no less than 0", n.name, n.value)
		}
	}
	return nil
}

// cells returns the combinations, in the order of the table.
func (o Options) cells() []*Cell {
	var cells []*Cell
	for _, w := range o.Windows {
		if o.WithoutDedupe {
			if w == BeforeReservation {
				continue // there is none
			}
			for _, k := range o.Keys {
				cells = append(cells, &Cell{Window: w, Keys: k})
			}
			continue
		}
		for _, p := range o.Policies {
			for _, k := range o.Keys {
				cells = append(cells, &Cell{Window: w, Policy: p, Keys: k})
			}
		}
	}
	return cells
}
