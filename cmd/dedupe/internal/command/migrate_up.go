package command

import (
	"github.com/spf13/cobra"

	"github.com/seed5aa7bdf6/temporal-dedupe/migrations"
)

func newMigrateUp(env Env, flags *migrateFlags) *cobra.Command {
	var steps int
	c := &cobra.Command{
		Use:   "up",
		Short: "Apply the migrations that are pending",
		Long: `Apply the migrations that are pending.

Several processes may do so at once. The schema named by --schema is created if
it is missing. A database that a newer release has upgraded is left alone.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := validateSteps(c, steps); err != nil {
				return err
			}
			url, err := flags.resolve(env)
			if err != nil {
				return err
			}
			result, err := migrations.Up(c.Context(), url, flags.options(env, steps))
			if err != nil {
				return err
			}
			return printResult(env.Out, result)
		},
	}
	registerSteps(c, &steps, "how many migrations to apply; defaults to all of them")
	return c
}
