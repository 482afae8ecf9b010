package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// statement is one statement with its arguments, and what becomes of the answer.
type statement struct {
	sql string
	one string // its form for the one row that it carries, or none
	// args makes the arguments: arrays, or plain ones for the form for one row.
	args func(one bool) []any
	scan func(pgx.Rows) error // one row of the answer
	// then completes the answer once it is final; nil if there is nothing to do.
	then func(context.Context) error
}

// ifOne returns the form of a statement for one row, if there is one.
func ifOne[A any](rows []A, sql string) string {
	if len(rows) == 1 {
		return sql
	}
	return ""
}

// preparing makes the statement that carries out rows and answers for each.
type preparing[A, R any] func(rows []A, answers []R) statement

// run carries the statement out.
func (q statement) run(ctx context.Context, pool Pool) error {
	if err := q.query(ctx, pool); err != nil {
		return err
	}
	return q.finish(ctx)
}

// query sends the statement by itself.
func (q statement) query(ctx context.Context, pool Pool) error {
	if q.one != "" {
		return query(ctx, pool, q.one, q.args(true), q.scan)
	}
	return query(ctx, pool, q.sql, q.args(false), q.scan)
}

// finish completes the answer.
func (q statement) finish(ctx context.Context) error {
	if q.then == nil {
		return nil
	}
	return q.then(ctx)
}

// whole stands for no statement in particular: for the transaction.
const whole = -1

// send carries statements out in one round trip and one transaction. If they were
// not, it tells which of them failed. Only the store's own pool is given several.
func (s *Store) send(ctx context.Context, statements []statement) (failed int, err error) {
	if len(statements) == 1 {
		return 0, statements[0].query(ctx, s.pool)
	}
	conn, err := s.own.Acquire(ctx)
	if err != nil {
		return whole, err
	}
	defer conn.Release()
	batch := &pgx.Batch{}
	args := make([][]any, len(statements))
	for i, q := range statements {
		args[i] = q.args(false)
		batch.Queue(q.sql, args[i]...)
	}
	makeRoom(conn.Conn(), args...)
	results := conn.SendBatch(ctx, batch)
	defer func() {
		// What was answered is true only once the transaction has been committed.
		if end := results.Close(); err == nil {
			failed, err = whole, end
		}
	}()
	for i, q := range statements {
		rows, err := results.Query()
		if err == nil {
			err = read(rows, q.scan)
		}
		if err != nil {
			return i, err
		}
	}
	return whole, nil
}

// query runs a statement and gives each of its rows to scan.
func query(ctx context.Context, pool Pool, sql string, args []any, scan func(pgx.Rows) error) error {
	run := pool.Query
	if p, ok := pool.(*pgxpool.Pool); ok {
		// A pool would keep the connection for ever when a tracer of queries panics.
		conn, err := p.Acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
		makeRoom(conn.Conn(), args)
		run = conn.Query
	}
	rows, err := run(ctx, sql, args...)
	if err != nil {
		return err
	}
	return read(rows, scan)
}

func read(rows pgx.Rows, scan func(pgx.Rows) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return scanError{unreadable(rows, err)}
		}
	}
	return rows.Err()
}
