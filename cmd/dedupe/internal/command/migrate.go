package command

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed5aa7bdf6/temporal-dedupe/migrations"
)

// migrateFlags are common to all commands under migrate.
type migrateFlags struct {
	database    databaseFlags
	lockTimeout time.Duration
}

func (f *migrateFlags) options(env Env, steps int) migrations.Options {
	return migrations.Options{
		Schema:      f.database.schema,
		Steps:       steps,
		LockTimeout: f.lockTimeout,
		Logger:      slog.New(slog.NewTextHandler(env.Err, nil)),
	}
}

// resolve returns the URL of the database.
func (f *migrateFlags) resolve(env Env) (string, error) {
	if f.lockTimeout < time.Millisecond || f.lockTimeout > 24*24*time.Hour {
		return "", usagef("dedupe: --lock-timeout must be 1ms to 576h, not %v", f.lockTimeout)
	}
	if err := f.validateSchema(); err != nil {
		return "", err
	}
	url, _, err := f.database.resolve(env)
	return url, err
}

// validateSchema refuses a schema that Postgres lets nobody create.
func (f *migrateFlags) validateSchema() error {
	if strings.HasPrefix(f.database.schema, "pg_") {
		return usagef("dedupe: --schema %s: names that begin with pg_ are reserved by Postgres", f.database.schema)
	}
	return nil
}

func newMigrate(env Env) *cobra.Command {
	flags := &migrateFlags{}
	c := group(&cobra.Command{
		Use:   "migrate",
		Short: "Create, upgrade, inspect and remove the tables",
		Long: `Create, upgrade, inspect and remove the tables.

Migrations can be applied by this command or by psql, in any order and any
number of times. up and down need a direct connection to Postgres, or a pool in
session mode: behind a transaction pooler they refuse to begin.`,
	})
	flags.database.register(c)
	c.PersistentFlags().DurationVar(&flags.lockTimeout, "lock-timeout", time.Minute,
		"how long to wait for other sessions' locks")
	c.AddCommand(
		newMigrateUp(env, flags),
		newMigrateDown(env, flags),
		newMigrateStatus(env, flags),
		newMigratePrint(env, flags),
	)
	return c
}

// registerSteps adds --steps; 0 means that it was not given.
func registerSteps(c *cobra.Command, steps *int, usage string) {
	c.Flags().IntVar(steps, "steps", 0, usage)
}

func validateSteps(c *cobra.Command, steps int) error {
	if c.Flags().Changed("steps") && steps < 1 {
		return usagef("dedupe: --steps must be 1 or more, not %d", steps)
	}
	return nil
}

// printResult says in one line what up or down did.
func printResult(out io.Writer, r migrations.Result) error {
	text := fmt.Sprintf("schema %q: version %d, nothing to do\n", r.Schema, r.To)
	if r.From != r.To {
		text = fmt.Sprintf("schema %q: version %d -> %d\n", r.Schema, r.From, r.To)
	}
	if _, err := io.WriteString(out, text); err != nil {
		return fmt.Errorf("dedupe: this was done, and could not be printed: %s: %w", strings.TrimSpace(text), err)
	}
	return nil
}
