package command

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed5aa7bdf6/temporal-dedupe/migrations"
)

func newMigrateStatus(env Env, flags *migrateFlags) *cobra.Command {
	var output outputFlag
	c := &cobra.Command{
		Use:   "status",
		Short: "Show which migrations are applied and which are pending",
		Long: `Show which migrations are applied and which are pending. Changes nothing, and
works through any pooler.

Exit codes:
  0  the schema is what this program needs
  1  failed, or the schema is newer than this program, or tables or columns
     are missing although their migration is applied
  2  wrong arguments
  3  there are migrations to apply`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := output.validate(); err != nil {
				return err
			}
			url, err := flags.resolve(env)
			if err != nil {
				return err
			}
			status, err := migrations.ReadStatus(c.Context(), url, flags.options(env, 0))
			if err != nil {
				return err
			}
			err = output.print(env.Out, status, func(out io.Writer) error { return printStatus(out, status) })
			if err != nil {
				return err
			}
			if err := status.Check(); !errors.Is(err, migrations.ErrPending) {
				return err
			}
			return &exitError{code: ExitPending}
		},
	}
	output.register(c)
	return c
}

func printStatus(out io.Writer, s migrations.Status) error {
	var text []byte
	text = fmt.Appendf(text, "schema %q: version %d of %d\n\n", s.Schema, s.Version, s.Latest)
	if s.Dirty {
		text = fmt.Append(text, "An earlier run was interrupted; the version is true. Run up or down again.\n\n")
	}
	if _, err := out.Write(text); err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "VERSION\tNAME\tSTATE\tAPPLIED AT")
	for _, a := range s.Applied {
		name, state := a.Name, "applied"
		if name == "" {
			name, state = "?", "applied by a newer release"
		}
		_, _ = fmt.Fprintf(table, "%d\t%s\t%s\t%s\n", a.Version, name, state, a.AppliedAt.UTC().Format(time.RFC3339))
	}
	for _, m := range s.Pending {
		_, _ = fmt.Fprintf(table, "%d\t%s\tpending\t-\n", m.Version, m.Name)
	}
	return table.Flush()
}
