package command

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

func newRecordsAudit(env Env, flags *adminFlags) *cobra.Command {
	var output outputFlag
	var limit int
	c := &cobra.Command{
		Use:   "audit [KEY]",
		Short: "Show what operators changed, of one record or of all, newest first",
		Long: `Show what operators changed, of one record or of all, newest first: also of
records that are gone. --output json has each record before and after the change.`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("dedupe: %q takes one key, but was given %q as well", c.CommandPath(), args[1])
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := output.validate(); err != nil {
				return err
			}
			if limit < 1 {
				return usagef("dedupe: --limit must be 1 or more, not %d", limit)
			}
			a, err := flags.open(c.Context(), env, reads)
			if err != nil {
				return err
			}
			defer a.close()
			trail, err := a.Audit(c.Context(), strings.Join(args, ""), limit)
			if err != nil {
				return err
			}
			return output.print(env.Out, newTrailJSON(trail), func(out io.Writer) error { return printTrail(out, trail, true) })
		},
	}
	c.Flags().IntVar(&limit, "limit", 100, "how many changes at most")
	output.register(c)
	return c
}

func printTrail(out io.Writer, trail []store.Audit, keys bool) error {
	if len(trail) == 0 {
		_, err := fmt.Fprintln(out, "no operator has changed anything")
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	head := "AT\tVERB\tACTOR\tREASON"
	if keys {
		head += "\tKEY"
	}
	_, _ = fmt.Fprintln(table, head)
	for _, t := range trail {
		row := []string{when(t.At), t.Verb, plain(t.Actor), plain(t.Reason)}
		if keys {
			row = append(row, plain(t.Key))
		}
		_, _ = fmt.Fprintln(table, strings.Join(row, "\t"))
	}
	return table.Flush()
}
