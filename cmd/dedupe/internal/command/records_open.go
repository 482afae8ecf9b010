package command

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// adminFlags are common to all commands that look at records.
type adminFlags struct {
	database databaseFlags
	timeout  time.Duration
}

func (f *adminFlags) register(c *cobra.Command) {
	f.database.register(c)
	registerTimeout(c, &f.timeout, 30*time.Second, "one question to the database")
}

// admin is an open store, seen as an operator does.
type admin struct {
	store.Admin
	*opened
}

// access says what a command does with the records.
type access bool

const (
	reads  access = true // SELECT is enough, and a standby or a read-only session
	writes access = false
)

// open connects to the records. The caller closes what it gets.
func (f *adminFlags) open(ctx context.Context, env Env, a access) (*admin, error) {
	if err := validateTimeout(f.timeout); err != nil {
		return nil, err
	}
	s, err := f.database.open(ctx, env, pgstore.Options{CallTimeout: f.timeout, ReadOnly: bool(a)})
	if err != nil {
		return nil, err
	}
	return &admin{Admin: s.Admin(), opened: s}, nil
}
