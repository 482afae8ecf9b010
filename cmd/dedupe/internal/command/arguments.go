package command

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// checkArguments refuses, before any command runs, what was hardly meant. A flag
// that is given and empty is a shell variable that is not set: taken for a flag
// that is left out, it would select every record, or skip the mark.
func checkArguments(c *cobra.Command, args []string) error {
	if c.Name() == cobra.ShellCompRequestCmd { // a word that is not begun yet is empty
		return nil
	}
	var err error
	c.Flags().Visit(func(f *pflag.Flag) {
		if err == nil {
			err = checkFlag(f)
		}
	})
	if err != nil {
		return err
	}
	if at := slices.IndexFunc(args, func(arg string) bool { return arg == "" || !isText(arg) }); at >= 0 {
		return usagef("dedupe: %q is empty, or has invalid UTF-8 or a zero byte: look whether a variable in it is set", args[at])
	}
	return nil
}

// checkFlag looks at the text, or at each of the texts, that a flag was given.
func checkFlag(f *pflag.Flag) error {
	values := []string{f.Value.String()}
	if list, ok := f.Value.(pflag.SliceValue); ok {
		values = list.GetSlice()
	} else if f.Value.Type() != "string" {
		return nil
	}
	if len(values) == 0 || slices.Contains(values, "") {
		return usagef("dedupe: --%s is empty: leave it out, or look whether a variable in it is set", f.Name)
	}
	for _, value := range values {
		if !isText(value) {
			return usagef("dedupe: --%s has invalid UTF-8 or a zero byte: %q", f.Name, value)
		}
	}
	return nil
}

func isText(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }
