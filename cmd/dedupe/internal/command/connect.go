package command

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// connectTimeout bounds the wait for the first answer: whoever runs a command looks
// on. What a command asks then may take as long as --timeout says.
const connectTimeout = 5 * time.Second

// registerTimeout adds --timeout.
func registerTimeout(c *cobra.Command, timeout *time.Duration, usual time.Duration, what string) {
	c.PersistentFlags().DurationVar(timeout, "timeout", usual, "how long "+what+" may take, such as 90s or 2m; the first\nconnection has 5s")
}

func validateTimeout(timeout time.Duration) error {
	if timeout < time.Second {
		return usagef("dedupe: --timeout must be 1s or more, not %v", timeout)
	}
	return nil
}

// opened is a store and the pool below it.
type opened struct {
	*pgstore.Store
	pool *pgxpool.Pool
}

// open connects to the records that the flags name. The caller closes what it gets.
func (f *databaseFlags) open(ctx context.Context, env Env, o pgstore.Options) (*opened, error) {
	url, config, err := f.resolve(env)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(url, "default_query_exec_mode") {
		// No named statement, and values in binary: it works behind every pooler, and
		// under any setting of the database.
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "dedupe"
	}
	config.MaxConns = 2
	impatient(config)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	if err := pgstore.CheckConnection(ctx, pool, connectTimeout); err != nil {
		pool.Close()
		return nil, err
	}
	o.Schema = f.schema
	s, err := pgstore.New(ctx, pool, o)
	if err != nil {
		pool.Close()
		return nil, err
	}
	return &opened{Store: s, pool: pool}, nil
}

// impatient makes every server that the URL names be tried within connectTimeout, so
// that one that is silent is named, and does not hide the others.
func impatient(config *pgxpool.Config) {
	servers := map[string]bool{config.ConnConfig.Host: true}
	for _, f := range config.ConnConfig.Fallbacks {
		servers[f.Host] = true
	}
	each := connectTimeout * 9 / 10 / time.Duration(len(servers))
	if t := config.ConnConfig.ConnectTimeout; t == 0 || t > each {
		config.ConnConfig.ConnectTimeout = each
	}
}

func (o *opened) close() {
	o.Close()
	o.pool.Close()
}
