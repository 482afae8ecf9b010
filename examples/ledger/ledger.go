package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// Ledger books transfers. Its tables are in the database that has the records.
type Ledger struct {
	// Pool leads to the database.
	Pool *pgxpool.Pool
	// Dedupe is whether the worker has the plugin.
	Dedupe bool
	// Faults are what this demo does to it. A user has none.
	Faults Faults
}

// Faults strike a transfer that is being booked.
type Faults struct {
	// Before strikes before the transaction, Inside when all is written, and
	// After when all is committed.
	Before, Inside, After func(ctx context.Context, t Transfer) error
}

// Book is the activity: one transaction, which completes the call's record too.
func (l *Ledger) Book(ctx context.Context, t Transfer) (Booking, error) {
	if err := l.Faults.Before(ctx, t); err != nil {
		return Booking{}, err
	}
	b, err := l.inTx(ctx, func(tx pgx.Tx) (Booking, error) {
		b, err := write(ctx, tx, t)
		if err != nil {
			return b, err
		}
		return b, l.Faults.Inside(ctx, t)
	})
	if err != nil {
		return Booking{}, err
	}
	return b, l.Faults.After(ctx, t)
}

// inTx is pgstore.InTx, or a transaction like any other where there is no plugin.
func (l *Ledger) inTx(ctx context.Context, fn func(pgx.Tx) (Booking, error)) (b Booking, err error) {
	if l.Dedupe {
		return pgstore.InTx(ctx, l.Pool, fn)
	}
	err = pgx.BeginFunc(ctx, l.Pool, func(tx pgx.Tx) error {
		b, err = fn(tx)
		return err
	})
	return b, err
}

const (
	moveSQL = `
UPDATE ledger_accounts SET cents = cents + CASE id WHEN $1 THEN -$3::bigint ELSE $3::bigint END
WHERE id IN (SELECT id FROM ledger_accounts WHERE id IN ($1, $2) ORDER BY id FOR UPDATE)`

	journalSQL = `INSERT INTO ledger_journal (transfer, cents) VALUES ($1, $2) RETURNING number`
)

// write writes a transfer. Nothing in the tables keeps it from being written twice.
func write(ctx context.Context, tx pgx.Tx, t Transfer) (b Booking, err error) {
	tag, err := tx.Exec(ctx, moveSQL, t.From, t.To, t.Cents)
	if err != nil {
		return b, fmt.Errorf("ledger: move the money: %w", err)
	}
	if tag.RowsAffected() != 2 {
		return b, fmt.Errorf("ledger: no accounts %q and %q", t.From, t.To)
	}
	if err := tx.QueryRow(ctx, journalSQL, t.ID, t.Cents).Scan(&b.Number); err != nil {
		return b, fmt.Errorf("ledger: write the journal: %w", err)
	}
	return b, nil
}
