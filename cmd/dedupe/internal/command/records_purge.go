package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

func newRecordsPurge(env Env, flags *adminFlags) *cobra.Command {
	var f changeFlags
	var remove bool
	c := &cobra.Command{
		Use:   "purge [KEY...] [--delete] --reason TEXT [--yes]",
		Short: "Remove results, or with --delete whole records",
		Long: `Remove the results of completed records, and leave tombstones: a call that is made
again is refused with dedupe.RecordCorrupt, and is not run again.

--delete removes whole records, of any state, but none that an execution owns. A
call whose record is gone is new: IT RUNS AGAIN, with the provider key that it had
at first. What operators did to it stays in the audit trail.
` + changeHelp,
		RunE: func(c *cobra.Command, args []string) error {
			r := request{
				change: store.Change{Verb: store.VerbPurge},
				says:   []string{"purge: the result is removed; a call that is made again is refused, and is not run."},
				apply: func(ctx context.Context, a store.Admin, o store.Order, changes []store.Change) ([]store.Resolved, error) {
					return a.Purge(ctx, o, changes)
				},
			}
			if remove {
				r.change.Verb = store.VerbDelete
				r.says = []string{"purge --delete: the record is removed; a call that is made again RUNS AGAIN, whatever it did."}
			}
			return f.run(c, env, flags, args, r)
		},
	}
	f.register(c)
	c.Flags().BoolVar(&remove, "delete", false, "remove whole records, so that their calls run again")
	return c
}
