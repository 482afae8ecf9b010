package command

import (
	"github.com/spf13/cobra"

	"github.com/seed5aa7bdf6/temporal-dedupe/migrations"
)

func newMigrateDown(env Env, flags *migrateFlags) *cobra.Command {
	var steps int
	var yes bool
	c := &cobra.Command{
		Use:   "down",
		Short: "Take back migrations, which drops data",
		Long: `Take back migrations, newest first: one, or as many as --steps says.

Taking back the first one drops every record: activity calls that were made
before can be made again. Stop the workers first.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := validateSteps(c, steps); err != nil {
				return err
			}
			if !yes {
				return usagef("dedupe: migrate down drops data, records included; " +
					"stop the workers and add --yes to go ahead")
			}
			url, err := flags.resolve(env)
			if err != nil {
				return err
			}
			result, err := migrations.Down(c.Context(), url, flags.options(env, steps))
			if err != nil {
				return err
			}
			return printResult(env.Out, result)
		},
	}
	registerSteps(c, &steps, "how many migrations to take back (default 1)")
	c.Flags().BoolVar(&yes, "yes", false, "drop the data")
	return c
}
