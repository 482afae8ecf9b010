package command

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
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
	c.PersistentFlags().DurationVar(&f.timeout, "timeout", 30*time.Second,
		"how long one question to the database may take")
}

// admin is an open store, seen as an operator does.
type admin struct {
	store.Admin
	records *pgstore.Store
	pool    *pgxpool.Pool
}

// open connects to the records. The caller closes what it gets.
func (f *adminFlags) open(ctx context.Context, env Env) (*admin, error) {
	if f.timeout < time.Second {
		return nil, usagef("dedupe: --timeout must be 1s or more, not %v", f.timeout)
	}
	url, config, err := f.database.resolve(env)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(url, "default_query_exec_mode") {
		// It works behind every pooler, and under every setting of the database.
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "dedupe"
	}
	config.MaxConns = 2
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	records, err := pgstore.New(ctx, pool, pgstore.Options{Schema: f.database.schema, CallTimeout: f.timeout})
	if err != nil {
		pool.Close()
		return nil, err
	}
	return &admin{Admin: records.Admin(), records: records, pool: pool}, nil
}

func (a *admin) close() {
	a.records.Close()
	a.pool.Close()
}
