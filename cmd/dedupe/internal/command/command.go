// Package command holds the subcommands of the dedupe command line, one file
// each, behind one function that takes arguments and streams and returns an
// exit code.
//
// A command reads flags, calls a package of the module and prints. It must not
// decide anything about records, speak SQL, or end the process.
//
// To add one, write a function that returns a *cobra.Command in a file of its
// own, and name it in newRoot or in its parent's file.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// Env is what a command may touch of the process that it runs in.
type Env struct {
	// In is standard input.
	In io.Reader
	// Out receives what was asked for, and nothing else.
	Out io.Writer
	// Err receives errors and progress.
	Err io.Writer
	// Getenv reads an environment variable.
	Getenv func(string) string
}

// Run runs the command line and returns the exit code: see the Exit constants.
func Run(ctx context.Context, args []string, env Env) int {
	root := newRoot(env)
	root.SetArgs(args)
	ran, err := root.ExecuteContextC(ctx)
	if err == nil {
		return ExitOK
	}
	var silent *exitError
	if errors.As(err, &silent) {
		return silent.code
	}
	_, _ = fmt.Fprintln(env.Err, lines(message(ctx, err)))
	var usage *usageError
	if errors.As(err, &usage) {
		_, _ = fmt.Fprintf(env.Err, "Run '%s --help' for usage.\n", ran.CommandPath())
		return ExitUsage
	}
	return ExitError
}

// message is an error's text. Who has pressed Ctrl-C knows no contexts.
func message(ctx context.Context, err error) string {
	text := err.Error()
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		text = strings.Replace(text, context.Canceled.Error(), "interrupted", 1)
	}
	if !strings.HasPrefix(text, "dedupe: ") {
		text = "dedupe: " + text
	}
	return text
}

func newRoot(env Env) *cobra.Command {
	root := group(&cobra.Command{
		Use:   "dedupe",
		Short: "Look after the records of temporal-dedupe",
		Long: "dedupe looks after the tables in which temporal-dedupe remembers what each\n" +
			"logical activity call has done.\n\n" + exitHelp,
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: checkArguments,
	})
	root.SetIn(env.In)
	root.SetOut(env.Out)
	root.SetErr(env.Err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usagef("dedupe: %w", err) })
	root.AddCommand(
		newConfig(env),
		newDoctor(env),
		newEvict(env),
		newMigrate(env),
		newRecords(env),
		newStats(env),
		newVersion(env),
	)
	return root
}

// group makes a command that only holds others: alone it prints its help, and
// an unknown name under it is a mistake in usage.
func group(c *cobra.Command) *cobra.Command {
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return usagef("dedupe: unknown command %q for %q", args[0], c.CommandPath())
	}
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	return c
}

// noArgs refuses arguments as a mistake in usage.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usagef("dedupe: %q takes no arguments, but was given %q", c.CommandPath(), args[0])
}
