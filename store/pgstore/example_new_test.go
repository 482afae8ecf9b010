package pgstore_test

import (
	"context"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// The store has connections of its own beside those of the pool, and looks at the
// schema: its error names the command that makes the tables.
func ExampleNew() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	records, err := pgstore.New(ctx, pool, pgstore.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer records.Close()
	fmt.Println("dedupe.Options{Store: records}")
}
