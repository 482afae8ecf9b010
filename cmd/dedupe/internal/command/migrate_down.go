package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed5aa7bdf6/temporal-dedupe/migrations"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

func newMigrateDown(env Env, flags *migrateFlags) *cobra.Command {
	var steps int
	var yes bool
	c := &cobra.Command{
		Use:   "down",
		Short: "Take back migrations, which drops records and audit trail",
		Long: `Take back migrations, newest first: one, or as many as --steps says.

Taking back the first one drops every record, held ones too, and the audit trail of
what operators changed: activity calls that were made before can be made again, and
nobody can tell any more who resolved what. Stop the workers first, and save
idempotency_audit if it is to be kept.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := validateSteps(c, steps); err != nil {
				return err
			}
			if !yes {
				return usagef("dedupe: migrate down drops data: every record%s and the audit trail; "+
					"stop the workers and add --yes to go ahead", flags.held(c.Context(), env))
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

// held says how many of the records wait for an operator, if that can be found out.
func (f *migrateFlags) held(ctx context.Context, env Env) string {
	o, err := f.database.open(ctx, env, pgstore.Options{CallTimeout: connectTimeout, ReadOnly: true})
	if err != nil { // nothing is to be done, and this no reason to fail otherwise
		return ""
	}
	defer o.close()
	n, err := o.CountHeld(ctx)
	if err != nil {
		return ""
	}
	return fmt.Sprintf(", of which %d wait for an operator,", n)
}
