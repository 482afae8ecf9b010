package doctor

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/pgurl"
)

// exam is the state of one examination: what later checks know from earlier
// ones.
type exam struct {
	options Options
	config  *pgxpool.Config // as the workers have it
	pool    *pgxpool.Pool   // for the doctor's own statements

	reached    bool       // the database has answered
	tables     *tables    // nil until they are found
	tally      *tally     // of the records, once counted
	tallyFault error      // why they could not be
	probed     *namespace // once Temporal has answered
}

// tables are the names of the tables, quoted.
type tables struct {
	records, audit, maintenance, server, version string
}

func newExam(ctx context.Context, options Options) (*exam, error) {
	config, err := pgurl.Parse(options.DatabaseURL)
	if err != nil {
		return nil, fmt.Errorf("dedupe: doctor: %w", err)
	}
	own := config.Copy()
	own.MaxConns, own.MinConns, own.MinIdleConns = 1, 0, 0
	// No named statement, and values in binary: it works through any pooler, and under
	// any setting of the database.
	own.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	if own.ConnConfig.RuntimeParams["application_name"] == "" {
		own.ConnConfig.RuntimeParams["application_name"] = "dedupe-doctor"
	}
	pool, err := pgxpool.NewWithConfig(ctx, own)
	if err != nil {
		return nil, fmt.Errorf("dedupe: doctor: open a pool: %w", err)
	}
	return &exam{options: options, config: config, pool: pool}, nil
}

func (e *exam) close() { e.pool.Close() }

// excuse says why a check is not made, or nothing.
func (e *exam) excuse(c Check) string {
	switch n := c.needs; {
	case slices.Contains(e.options.Skip, c.Name):
		return "as told"
	case n == needsTemporal && e.options.Temporal.Address == "":
		return "no --temporal-address was given"
	case (n == needsDatabase || n == needsTables) && !e.reached:
		return "the database cannot be reached: see database"
	case n == needsTables && e.tables == nil:
		return "the tables were not found: see schema"
	}
	return ""
}

// within runs f in a read-only transaction that ends in the server, too, when
// the check's time is over, and that waits for no lock to speak of.
func (e *exam) within(ctx context.Context, f func(tx pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, e.pool, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, fmt.Sprintf(limitsSQL, e.options.Timeout.Milliseconds(), lockTimeout.Milliseconds()))
		if err != nil {
			return err
		}
		return f(tx)
	})
}

// lockTimeout is below deadlock_timeout, so that the doctor never makes the
// server look for deadlocks.
const lockTimeout = 500 * time.Millisecond

// row reads the one row of a statement.
func (e *exam) row(ctx context.Context, statement string, args []any, into ...any) error {
	return e.within(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, e.named(statement), args...).Scan(into...)
	})
}

// lines reads a statement of one text column.
func (e *exam) lines(ctx context.Context, statement string, args ...any) (lines []string, err error) {
	err = e.within(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, e.named(statement), args...)
		if err != nil {
			return err
		}
		lines, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	return lines, err
}
