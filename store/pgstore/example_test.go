package pgstore_test

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// Ledger has an activity whose one effect is in the database that has the records.
type Ledger struct{ Pool *pgxpool.Pool }

// Book moves money. The balance and the record of the call are written together, or
// not at all; examples/ledger kills its workers to show it.
func (l *Ledger) Book(ctx context.Context, account string, cents int64) (balance int64, err error) {
	return pgstore.InTx(ctx, l.Pool, func(tx pgx.Tx) (int64, error) {
		err := tx.QueryRow(ctx, `UPDATE accounts SET cents = cents + $2 WHERE id = $1 RETURNING cents`, account, cents).Scan(&balance)
		return balance, err
	})
}

func ExampleInTx() {
	// The activity is registered like any other.
	_ = (&Ledger{}).Book
}

func ExampleInTxWith() {
	serializable := pgx.TxOptions{IsoLevel: pgx.Serializable}
	_ = func(ctx context.Context, pool *pgxpool.Pool) (int64, error) {
		// A serialization failure is tried again by Temporal, and recorded nowhere.
		return pgstore.InTxWith(ctx, pool, serializable, func(tx pgx.Tx) (sum int64, err error) {
			err = tx.QueryRow(ctx, `SELECT sum(cents) FROM accounts`).Scan(&sum)
			return sum, err
		})
	}
}
