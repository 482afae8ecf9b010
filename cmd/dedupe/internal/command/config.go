package command

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed5aa7bdf6/temporal-dedupe/worker/config"
)

func newConfig(env Env) *cobra.Command {
	c := group(&cobra.Command{
		Use:   "config",
		Short: "Check and explain a file of policies",
		Long: `Check and explain a file of policies, such as dedupe.yaml. Needs no database.
A FILE that is - is read from standard input.

A change to the file is reviewed as a change to what is in force:

  diff <(git show main:dedupe.yaml | dedupe config show --values -) \
       <(dedupe config show --values dedupe.yaml)`,
	})
	c.AddCommand(newConfigCheck(env), newConfigShow(env))
	return c
}

// oneFile wants the name of one file.
func oneFile(c *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return usagef("dedupe: %q needs a file, such as dedupe.yaml", c.CommandPath())
	case 1:
		return nil
	default:
		return usagef("dedupe: %q takes one file, but was given %q as well", c.CommandPath(), args[1])
	}
}

// readConfig reads a file, or standard input if it is "-".
func readConfig(env Env, path string) (*config.Config, error) {
	if path != "-" {
		return config.Load(path)
	}
	text, err := io.ReadAll(env.In)
	if err != nil {
		return nil, fmt.Errorf("dedupe: read standard input: %w", err)
	}
	return config.Parse("stdin", text)
}

// registerActivities adds --activities.
func registerActivities(c *cobra.Command, activities *[]string, usage string) {
	c.Flags().StringSliceVar(activities, "activities", nil, usage)
}

func newConfigCheck(env Env) *cobra.Command {
	var output outputFlag
	var activities []string
	c := &cobra.Command{
		Use:   "check FILE",
		Short: "Print what is wrong with a file, all of it",
		Long: `Print what is wrong with a file, all of it, as file:line:column: field: text.
Changes nothing.

Exit codes:
  0  the file can be used; warnings do not count
  1  it has problems, or cannot be read
  2  wrong arguments`,
		Args: oneFile,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := output.validate(); err != nil {
				return err
			}
			checked := checkedConfig{File: args[0], Problems: []config.Problem{}, Warnings: []config.Problem{}}
			file, err := readConfig(env, args[0])
			var wrong *config.Error
			switch {
			case errors.As(err, &wrong):
				checked.Problems = wrong.Problems
			case err != nil:
				return err
			default:
				checked.activities = len(file.Activities())
				if activities != nil {
					checked.Warnings = append(checked.Warnings, file.Unknown(activities)...)
				}
			}
			if err := output.print(env.Out, checked, checked.print); err != nil {
				return err
			}
			if len(checked.Problems) > 0 {
				return &exitError{code: ExitError}
			}
			return nil
		},
	}
	output.register(c)
	registerActivities(c, &activities, "activity `types` that workers register, with commas between; the\nfile's others are warned of")
	return c
}

// checkedConfig is the answer of config check.
type checkedConfig struct {
	File     string           `json:"file"`
	Problems []config.Problem `json:"problems"`
	Warnings []config.Problem `json:"warnings"`

	activities int
}

func (f checkedConfig) print(out io.Writer) error {
	var text []byte
	for _, p := range f.Problems {
		text = fmt.Appendf(text, "%s:%s\n", plain(f.File), oneProblem(p))
	}
	for _, p := range f.Warnings {
		text = fmt.Appendf(text, "%s:%s (warning)\n", plain(f.File), oneProblem(p))
	}
	if len(f.Problems) == 0 {
		text = fmt.Appendf(text, "%s: can be used; it names %d activity types\n", plain(f.File), f.activities)
	}
	_, err := out.Write(text)
	return err
}

// oneProblem keeps a problem, which can quote a file, in its line.
func oneProblem(p config.Problem) string {
	return strings.ReplaceAll(lines(p.String()), "\n", `\n`)
}
