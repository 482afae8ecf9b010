package command

import (
	"context"
	"fmt"
	"io"
	"math"
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
records that are gone. --output json has each record before and after the change. Standard
error says whether there are more than --limit.`,
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
			if limit < 1 || limit == math.MaxInt {
				return usagef("dedupe: --limit must be 1 or more, and below %d, not %d", math.MaxInt, limit)
			}
			a, err := flags.open(c.Context(), env, reads)
			if err != nil {
				return err
			}
			defer a.close()
			trail, more, err := trailOf(c.Context(), a, strings.Join(args, ""), limit)
			if err != nil {
				return err
			}
			err = output.print(env.Out, newTrailJSON(trail), func(out io.Writer) error { return printTrail(out, trail, true) })
			if err == nil && more {
				_, err = fmt.Fprintf(env.Err, "there are older changes than these %d: raise --limit\n", len(trail))
			}
			return err
		},
	}
	c.Flags().IntVar(&limit, "limit", 100, "how many changes at most")
	output.register(c)
	return c
}

// trailOf are the latest changes of a key, or of all, and whether there are older ones.
func trailOf(ctx context.Context, a store.Admin, key string, limit int) (trail []store.Audit, more bool, err error) {
	trail, err = a.Audit(ctx, key, limit+1)
	return trail[:min(len(trail), limit)], len(trail) > limit, err
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
