package main

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed5aa7bdf6/temporal-dedupe/bench/internal/report"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// variant is one way to set the store up. This is the one place that says how.
type variant struct {
	by      string
	schema  string
	options pgstore.Options
}

var (
	// grouped is the store as it comes.
	grouped = variant{by: report.Grouped, schema: "grouped"}
	// single gives every call a statement of its own, and enough connections
	// for them.
	single = variant{by: report.Single, schema: "single", options: pgstore.Options{BatchSize: 1, BatchesInFlight: 32}}
)

// poolConns is the size of the pool that the store is given. It opens one of its
// own for nearly everything.
const poolConns = 4

// open opens the variant's store on a schema. close ends it and its connections,
// which then tell the server's statistics what they did.
func (v variant) open(ctx context.Context, b *bench, schema string) (s *pgstore.Store, close func(), err error) {
	var pool *pgxpool.Pool
	if pool, err = b.server.pool(ctx); err != nil {
		return nil, nil, err
	}
	options := v.options
	options.Schema = schema
	if s, err = pgstore.New(ctx, pool, options); err != nil {
		pool.Close()
		return nil, nil, err
	}
	return s, func() {
		s.Close()
		pool.Close()
	}, nil
}
