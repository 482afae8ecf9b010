package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// carryOut is one call of a method that serves many arguments: it refuses bad
// arguments and a closed store, bounds the call, and answers everything or the
// first error. do answers for each argument by itself, so that callers whose
// arguments share a statement need not share a failure.
func carryOut[A, R any](
	ctx context.Context, s *Store, name string, args []A,
	key func(A) (string, error), do func(context.Context, []A) ([]R, []error),
) ([]R, error) {
	if err := s.requireOpen(name); err != nil {
		return nil, err
	}
	keys, err := validKeys(args, key)
	if err != nil || len(args) == 0 {
		return nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, s.options.CallTimeout)
	defer cancel()
	answers, errs := do(bounded, args)
	for i, err := range errs {
		if err != nil {
			return nil, s.fault(ctx, name, keys[i], err)
		}
	}
	return answers, nil
}

// batch carries out one statement for many rows, and for each row by itself
// where the rows failed because one of them did. Its errors are the driver's.
func batch[A, R any](
	ctx context.Context, s *Store, rows []A, do func(context.Context, []A) ([]R, error),
) ([]R, []error) {
	answers, err := retried(ctx, s, func(err error) bool {
		return retryable(err) && (len(rows) == 1 || !divisible(err))
	}, func(ctx context.Context) ([]R, error) { return do(ctx, rows) })
	errs := make([]error, len(rows))
	switch {
	case err == nil:
		return answers, errs
	case len(rows) == 1 || !divisible(err) || ctx.Err() != nil:
		for i := range errs {
			errs[i] = err
		}
		return make([]R, len(rows)), errs
	}
	answers = make([]R, len(rows))
	one := func(i int) func(context.Context) (R, error) {
		return func(ctx context.Context) (R, error) {
			var none R
			got, err := do(ctx, rows[i:i+1])
			if err != nil {
				return none, err
			}
			return got[0], nil
		}
	}
	// Once each first: the row that keeps failing must not use up the time of
	// the others.
	for i := range rows {
		answers[i], errs[i] = one(i)(ctx)
	}
	for i := range rows {
		if errs[i] != nil && retryable(errs[i]) {
			answers[i], errs[i] = retried(ctx, s, retryable, one(i))
		}
	}
	return answers, errs
}

// query runs a statement and gives each of its rows to scan.
func query(ctx context.Context, pool Pool, sql string, args []any, scan func(pgx.Rows) error) error {
	rows, err := pool.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return scanError{err}
		}
	}
	return rows.Err()
}
