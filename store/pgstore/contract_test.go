package pgstore_test

import (
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/storetest"
)

// execModes are all the ways in which pgx can send a statement.
var execModes = []pgx.QueryExecMode{
	pgx.QueryExecModeCacheStatement,
	pgx.QueryExecModeCacheDescribe,
	pgx.QueryExecModeDescribeExec,
	pgx.QueryExecModeExec,
	pgx.QueryExecModeSimpleProtocol,
}

func execMode(mode pgx.QueryExecMode) func(*pgxpool.Config) {
	return func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = mode }
}

func TestStoreKeepsTheContractInEveryExecMode(t *testing.T) {
	t.Parallel()
	modes := execModes
	if os.Getenv("CI") != "true" { // half a minute; TestEveryExecModeGivesTheSameAnswers is the short form
		modes = modes[:1]
	}
	for _, mode := range modes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, func(t *testing.T) storetest.Harness {
				b, advance := setupClock(t, execMode(mode))
				return storetest.Harness{Store: b.store, Advance: advance, Close: b.store.Close}
			})
		})
	}
}

func BenchmarkStore(b *testing.B) {
	storetest.Benchmark(b, func(b *testing.B) store.Store {
		return setup(b, pgstore.Options{}).store
	})
}
