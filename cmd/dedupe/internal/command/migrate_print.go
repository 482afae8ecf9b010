package command

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/seed5aa7bdf6/temporal-dedupe/migrations"
)

func newMigratePrint(env Env, flags *migrateFlags) *cobra.Command {
	var steps int
	c := &cobra.Command{
		Use:   "print [up|down]",
		Short: "Print the SQL for psql; needs no database",
		Long: `Print the SQL that up (the default) or down would run, without a database:

  dedupe migrate print | psql -v ON_ERROR_STOP=1 "$DATABASE_URL"`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("dedupe: %q takes one direction, but was given %q as well", c.CommandPath(), args[1])
			}
			if len(args) == 1 && args[0] != string(migrations.DirectionUp) && args[0] != string(migrations.DirectionDown) {
				return usagef("dedupe: the direction must be up or down, not %q", args[0])
			}
			return nil
		},
		ValidArgs: []string{string(migrations.DirectionUp), string(migrations.DirectionDown)},
		RunE: func(c *cobra.Command, args []string) error {
			if err := validateSteps(c, steps); err != nil {
				return err
			}
			if err := flags.validateSchema(); err != nil {
				return err
			}
			direction := migrations.DirectionUp
			if len(args) == 1 {
				direction = migrations.Direction(args[0])
			}
			script, err := migrations.SQL(direction, flags.options(env, steps))
			if err != nil {
				return err
			}
			_, err = io.WriteString(env.Out, script)
			return err
		},
	}
	registerSteps(c, &steps, "how many migrations; defaults to all for up, and to the\nnewest one for down")
	return c
}
