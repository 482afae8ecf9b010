package command

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/seed5aa7bdf6/temporal-dedupe/worker/config"
)

func newConfigShow(env Env) *cobra.Command {
	var output outputFlag
	var activities []string
	var values bool
	c := &cobra.Command{
		Use:   "show FILE",
		Short: "Show what is in force for each activity type, and which line says so",
		Long: `Show what is in force for each activity type, and which line of the file says
so: its own block, the defaults, or the default of the field. Policies in code
can add what the file leaves open. "(code)" stands for a type that only code
names.`,
		Args: oneFile,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := output.validate(); err != nil {
				return err
			}
			file, err := readConfig(env, args[0])
			if err != nil {
				return err
			}
			shown := shownConfig{
				File: file.File(), Defaults: file.Defaults(), Activities: file.Explain(activities...), values: values,
			}
			return output.print(env.Out, shown, shown.print)
		},
	}
	output.register(c)
	registerActivities(c, &activities, "activity `types` to show, with commas between; defaults to those\nthat the file names")
	c.Flags().BoolVar(&values, "values", false, "leave out the lines, which change when the file is reordered;\nfor diff (table only)")
	return c
}

// shownConfig is the answer of config show.
type shownConfig struct {
	File       string             `json:"file"`
	Defaults   []config.Setting   `json:"defaults"`
	Activities []config.Effective `json:"activities"`

	values bool
}

func (f shownConfig) print(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(activity, field, value, source string) {
		activity, value, source = plain(activity), plain(value), plain(source)
		if f.values {
			_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", activity, field, value)
			return
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", activity, field, value, source)
	}
	line("ACTIVITY", "FIELD", "VALUE", "SOURCE")
	for _, a := range f.Activities {
		if len(a.Settings) == 0 {
			line(a.Activity, "-", "not deduplicated, unless code has a policy", "-")
		}
		for _, s := range a.Settings {
			line(a.Activity, s.Field, s.Value, s.Source)
		}
	}
	for _, s := range f.Defaults {
		line("(code)", s.Field, s.Value, s.Source)
	}
	return table.Flush()
}
