package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// outputFlag chooses between text for people and JSON for programs.
type outputFlag struct{ format string }

func (f *outputFlag) register(c *cobra.Command) {
	c.Flags().StringVarP(&f.format, "output", "o", "table", "`format`: table or json")
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"table", "json"}, cobra.ShellCompDirectiveNoFileComp))
}

// print writes the value as JSON, or calls table.
func (f *outputFlag) print(out io.Writer, value any, table func(io.Writer) error) error {
	if f.format == "json" {
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(value); err != nil {
			return err
		}
		_, err := io.WriteString(out, plainJSON(text.String()))
		return err
	}
	return table(out)
}

// validate is called before anything is done.
func (f *outputFlag) validate() error {
	if f.format == "table" || f.format == "json" {
		return nil
	}
	return &usageError{fmt.Errorf("dedupe: --output must be table or json, not %q", f.format)}
}
