package command

import (
	"regexp"
	"slices"
	"strconv"
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

// keyForm is how every key begins: a prefix perhaps, and a kind. What follows is
// others' text; docs/keys.md has the grammar.
var keyForm = regexp.MustCompile(`^([^:/]+:)?[werbis]c?l?d?/.`)

// checkKeys refuses arguments that can be no keys. A flag that is on or off takes no
// word after it: `--yes false` means yes, and a record of the key "false".
func checkKeys(keys []string) error {
	for _, key := range keys {
		if keyForm.MatchString(key) {
			continue
		}
		if _, err := strconv.ParseBool(key); err == nil {
			return usagef("dedupe: %q is no key: a flag that is on or off takes its value with =, as in --yes=%s", key, key)
		}
		return usagef("dedupe: %q is no key: keys look like w/default/order-42/0/ChargePayment/1; `dedupe records list` and `dedupe records find` have them", key)
	}
	return nil
}

// markForm is a mark as people copy it.
var markForm = regexp.MustCompile(`^[0-9a-fA-F]{12}$`)

// checkMark refuses what can be no mark: no record could ever have it.
func checkMark(mark string) error {
	if mark == "" || markForm.MatchString(mark) {
		return nil
	}
	return usagef("dedupe: --mark %q is no mark: want the 12 hex digits that `dedupe records show` and `list` print", mark)
}

func isText(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }
