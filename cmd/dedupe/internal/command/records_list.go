package command

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

func newRecordsList(env Env, flags *adminFlags) *cobra.Command {
	var selects selectFlags
	var output outputFlag
	c := &cobra.Command{
		Use:   "list",
		Short: "List records; --held is the worklist of outcomes that nobody knows",
		Long: `List records, without their results, in the order of their keys.

--held lists the worklist from an index of its own, the oldest first; its KEY is
what the other commands take, and its MARK what you have looked at. --workflow
reads a part of the index of keys. The other flags compare record by record: with
neither of the two, a list of a large table that selects little reads much of it,
for --timeout at most. Standard error says whether there may be more than --limit, and
how to go on.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := output.validate(); err != nil {
				return err
			}
			return listRecords(c.Context(), env, flags, output, &selects)
		},
	}
	selects.register(c, 100)
	output.register(c)
	return c
}

// listRecords prints the records that are meant.
func listRecords(ctx context.Context, env Env, flags *adminFlags, output outputFlag, selects *selectFlags) error {
	if err := selects.validate(); err != nil {
		return err
	}
	a, err := flags.open(ctx, env, reads)
	if err != nil {
		return err
	}
	defer a.close()
	entries, more, err := selects.list(ctx, a)
	if err != nil {
		return err
	}
	return printEntries(env, output, selects, entries, more)
}

// printEntries writes a list, and says on standard error what it lacks.
func printEntries(env Env, output outputFlag, selects *selectFlags, entries []store.Entry, more bool) error {
	err := output.print(env.Out, newEntriesJSON(entries), func(out io.Writer) error {
		if len(entries) == 0 {
			return nil
		}
		return printTable(out, entries)
	})
	switch {
	case err != nil:
		return err
	case len(entries) == 0:
		_, err = fmt.Fprintln(env.Err, selects.nothing())
	case more:
		_, err = fmt.Fprintf(env.Err, "there may be more than these %d: %s\n", len(entries), selects.rest(entries[len(entries)-1].Key))
	}
	return err
}

// nothing says that no record matches, and where it was looked for: the flags that say
// so have defaults where a workflow is named.
func (f *selectFlags) nothing() string {
	text, namespace := "no record matches", f.namespace
	if f.workflow != "" {
		namespace = cmp.Or(namespace, defaultNamespace)
	}
	if namespace != "" {
		text += fmt.Sprintf(" in namespace %q", namespace)
	}
	switch {
	case f.keyPrefix != "":
		return text + fmt.Sprintf(", with key prefix %q", f.keyPrefix)
	case f.workflow != "" && !f.held:
		return text + ", without a key prefix"
	}
	return text
}

func printTable(out io.Writer, entries []store.Entry) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "MARK\tSTATE\tSINCE\tATTEMPT\tACTIVITY\tWORKFLOW\tKEY")
	for _, e := range entries {
		since := e.UpdatedAt
		if e.Held {
			since = e.HeldSince
		}
		_, _ = fmt.Fprintln(table, strings.Join([]string{
			e.Seen().Mark(), state(e), when(since), fmt.Sprint(e.Attempt), or(e.ActivityType), or(e.WorkflowID), plain(e.Key),
		}, "\t"))
	}
	return table.Flush()
}
