package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// Get reads one record with its result.
func (s *Store) Get(ctx context.Context, key string) (store.Record, error) {
	found, err := carryOut(ctx, s, "get", []string{key}, func(key string) (string, error) { return key, nil },
		func(ctx context.Context, keys []string) ([]store.Found, []error) {
			return carryRows(ctx, keys, kind[string, store.Found]{s.getting.alone, s.getting.alone})
		})
	if err != nil {
		return store.Record{}, err
	}
	if !found[0].Exists {
		return store.Record{}, fmt.Errorf("%w: key %q", store.ErrNotFound, key)
	}
	return found[0].Record, nil
}

// get reads the records that are there.
func (s *Store) get(keys []string, found []store.Found) statement {
	var ord int
	scan := newRecordScan(&ord)
	args := func(one bool) []any { return []any{argument(keys, one, func(key *string) string { return *key })} }
	return statement{sql: s.sql.get, one: ifOne(keys, s.sql.one.get), args: args, scan: func(rows pgx.Rows) error {
		if err := scan.read(rows); err != nil {
			return err
		}
		return scan.place(found, ord)
	}}
}
