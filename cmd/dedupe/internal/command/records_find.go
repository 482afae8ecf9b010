package command

import (
	"github.com/spf13/cobra"
)

func newRecordsFind(env Env, flags *adminFlags) *cobra.Command {
	var selects selectFlags
	var output outputFlag
	c := &cobra.Command{
		Use:   "find --workflow ID --activity TYPE [--namespace NAME]",
		Short: "Find the records of a workflow's calls of one activity type",
		Long: `Find the records of a workflow's calls of one activity type, and of the effects
inside them (dedupe.Do), which have records of their own.

Their keys are known from the workflow ID, but for business keys and for children
without an ID of their own. The former are read from the index of keys at once;
then the business keys of that type and the keys of such children are read from it
too, and compared with the workflow ID that stands in the record.

Where workers have an Options.KeyPrefix, --key-prefix must name it.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := output.validate(); err != nil {
				return err
			}
			if selects.workflow == "" || selects.activity == "" {
				return usagef("dedupe: records find needs --workflow and --activity; `records list` takes one alone")
			}
			return listRecords(c.Context(), env, flags, output, &selects)
		},
	}
	c.Flags().StringVar(&selects.workflow, "workflow", "", "workflow `ID`")
	c.Flags().StringVar(&selects.activity, "activity", "", "activity `type`")
	c.Flags().IntVar(&selects.limit, "limit", 100, "how many records at most")
	c.Flags().StringVar(&selects.after, "after", "", "only records behind this `key`: the next page")
	selects.registerWhere(c)
	output.register(c)
	return c
}
