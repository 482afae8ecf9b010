package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed5aa7bdf6/temporal-dedupe/migrations"
)

const (
	accounts       = 10
	openingBalance = 100_000 // cents
)

// books are the tables of one run, as the auditor sees them.
type books struct {
	pool *pgxpool.Pool
	run  string // begins the IDs of this run's accounts and transfers
}

const tablesSQL = `
CREATE TABLE IF NOT EXISTS ledger_accounts (id text PRIMARY KEY, cents bigint NOT NULL);
CREATE TABLE IF NOT EXISTS ledger_journal (
	number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, transfer text NOT NULL, cents bigint NOT NULL)`

// openBooks makes the tables, and the accounts of a new run.
func openBooks(ctx context.Context, url string) (*books, error) {
	if _, err := migrations.Up(ctx, url, migrations.Options{}); err != nil {
		return nil, fmt.Errorf("ledger: migrations: %w", err)
	}
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	b := &books{pool: pool, run: "ledger-" + strings.ToLower(rand.Text()[:6])}
	_, err = pool.Exec(ctx, tablesSQL)
	for i := 0; err == nil && i < accounts; i++ {
		_, err = pool.Exec(ctx, `INSERT INTO ledger_accounts VALUES ($1, $2)`, b.account(i), openingBalance)
	}
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("ledger: open the books: %w", err)
	}
	return b, nil
}

func (b *books) account(i int) string { return fmt.Sprintf("%s-account-%d", b.run, i%accounts) }

// transfer is the n-th transfer of the run.
func (b *books) transfer(n int) Transfer {
	return Transfer{
		ID: fmt.Sprintf("%s-%04d", b.run, n), From: b.account(n), To: b.account(n*7 + 3), Cents: int64(100 + n),
	}
}
