package command

import (
	"github.com/spf13/cobra"
)

func newRecords(env Env) *cobra.Command {
	flags := &adminFlags{}
	c := group(&cobra.Command{
		Use:   "records",
		Short: "Look at records, resolve those that nobody knows the outcome of, and purge",
		Long: `Look at records, resolve those that nobody knows the outcome of, and purge.

  list, find, show, audit          change nothing
  release, complete, fail, purge   change nothing either without --yes: they print
                                   what they would do

` + "`list --held`" + ` is the worklist: calls that may have had their effect, whose policy
forbids to try again, and that wait for a person to find out. A change leaves a
record alone that is no longer as it was looked at, needs a reason, and leaves a
row in the audit trail. Results are never loaded, but by ` + "`show --result`" + `.`,
	})
	flags.register(c)
	c.AddCommand(
		newRecordsList(env, flags),
		newRecordsFind(env, flags),
		newRecordsShow(env, flags),
		newRecordsAudit(env, flags),
		newRecordsRelease(env, flags),
		newRecordsComplete(env, flags),
		newRecordsFail(env, flags),
		newRecordsPurge(env, flags),
	)
	return c
}
