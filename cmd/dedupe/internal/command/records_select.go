package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// selectFlags say which records are meant.
type selectFlags struct {
	namespace, workflow, run, activity, keyPrefix string
	status                                        string
	held, effectPossible, pastLease, pending      bool
	limit                                         int
	after                                         string
}

// selecting are the flags that select; the others only say how.
var selecting = []string{"workflow", "run", "activity", "status", "held", "effect-possible", "past-lease", "pending"}

// defaultNamespace is where a workflow is looked for.
const defaultNamespace = "default"

func (f *selectFlags) register(c *cobra.Command, limit int) {
	flags := c.Flags()
	flags.StringVar(&f.workflow, "workflow", "", "records of the workflow with this `ID`")
	flags.StringVar(&f.run, "run", "", "records last acquired by the run with this `ID`")
	flags.StringVar(&f.activity, "activity", "", "records of this activity `type`")
	flags.StringVar(&f.status, "status", "", "records of this `status`: in_progress, completed or failed")
	flags.BoolVar(&f.held, "held", false, "records that wait for an operator, the oldest first")
	flags.BoolVar(&f.effectPossible, "effect-possible", false, "records of which nobody knows whether they had their effect,\nand that nobody owns, held or not")
	flags.BoolVar(&f.pastLease, "past-lease", false, "records in progress whose lease is over")
	flags.BoolVar(&f.pending, "pending", false, "records that are completed from outside")
	flags.StringVar(&f.after, "after", "", "only records behind this `key`: the next page")
	flags.IntVar(&f.limit, "limit", limit, fmt.Sprintf("how many records at most, up to %d", store.MaxListed))
	f.registerWhere(c)
	_ = c.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(
		[]string{string(store.StatusInProgress), string(store.StatusCompleted), string(store.StatusFailed)}, cobra.ShellCompDirectiveNoFileComp))
}

// registerWhere adds the flags that say where keys begin.
func (f *selectFlags) registerWhere(c *cobra.Command) {
	c.Flags().StringVar(&f.namespace, "namespace", "", "only records of this Temporal `namespace`; with --workflow,\ndefaults to default")
	c.Flags().StringVar(&f.keyPrefix, "key-prefix", "", "only records of workers with this Options.KeyPrefix; with\n--workflow and without --held, defaults to those with none")
}

// narrowing are the flags that narrow a selection down, and select nothing by
// themselves.
var narrowing = []string{"namespace", "key-prefix", "after", "limit"}

// narrows is a flag among them that was given, if any.
func (f *selectFlags) narrows(c *cobra.Command) string {
	if at := slices.IndexFunc(narrowing, c.Flags().Changed); at >= 0 {
		return narrowing[at]
	}
	return ""
}

// given tells whether a flag that selects was given; one that is turned off does
// not select.
func (f *selectFlags) given(c *cobra.Command) bool {
	return slices.ContainsFunc(selecting, func(name string) bool {
		f := c.Flags().Lookup(name)
		return f.Changed && (f.Value.Type() != "bool" || f.Value.String() == "true")
	})
}

func (f *selectFlags) validate() error {
	switch store.Status(f.status) {
	case "", store.StatusInProgress, store.StatusCompleted, store.StatusFailed:
	default:
		return usagef("dedupe: --status must be in_progress, completed or failed, not %q", f.status)
	}
	if f.limit < 1 || f.limit > store.MaxListed {
		return usagef("dedupe: --limit must be 1 to %d, not %d", store.MaxListed, f.limit)
	}
	if f.held && f.after != "" {
		return usagef("dedupe: --after goes by keys, and --held does not list in their order: raise --limit")
	}
	return nil
}

// queries are what to ask, one after the other. A workflow's records are looked
// for where their keys must stand, and then among those whose keys do not name
// it: neither reads the table. Held records are few, and have their own index.
func (f *selectFlags) queries() []store.Query {
	q := store.Query{
		Held: f.held, EffectPossible: f.effectPossible, PastLease: f.pastLease, Pending: f.pending, Status: store.Status(f.status),
		Namespace: f.namespace, WorkflowID: f.workflow, RunID: f.run, ActivityType: f.activity,
		After: f.after, Limit: f.limit,
	}
	if f.workflow != "" {
		q.Namespace = cmp.Or(f.namespace, defaultNamespace)
	}
	if f.workflow == "" || f.held {
		if f.keyPrefix != "" {
			q.Ranges = []store.KeyRange{activity.PrefixedKeys(f.keyPrefix)}
		}
		return []store.Query{q}
	}
	where := activity.FindKeys(f.keyPrefix, q.Namespace, f.workflow, f.activity)
	named, others := q, q
	named.Ranges, named.WorkflowID, named.Namespace = where.Workflow, "", ""
	others.Ranges = where.Others
	return []store.Query{named, others}
}

// list asks the queries, and tells whether there may be more than the limit. What
// it gives is in the order of the keys, whichever query has found it, so that
// --after can go on behind the last one.
func (f *selectFlags) list(ctx context.Context, a store.Admin) (entries []store.Entry, more bool, err error) {
	for _, q := range f.queries() {
		found, err := a.List(ctx, q)
		if err != nil {
			return nil, false, err
		}
		more = more || len(found) == q.Limit
		entries = append(entries, found...)
	}
	if !f.held {
		slices.SortFunc(entries, func(x, y store.Entry) int { return strings.Compare(x.Key, y.Key) })
	}
	return entries[:min(len(entries), f.limit)], more || len(entries) > f.limit, nil
}

// rest says how to get at what the limit has left out.
func (f *selectFlags) rest(last string) string {
	if f.held {
		return "raise --limit, or repeat the command when these are resolved"
	}
	return fmt.Sprintf("raise --limit, or go on with --after %s", shell(last))
}
