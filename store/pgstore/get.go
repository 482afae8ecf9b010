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
			return batch(ctx, s, keys, direct(s.get), direct(s.get))
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
func (s *Store) get(ctx context.Context, keys []string) ([]store.Found, error) {
	found := make([]store.Found, len(keys))
	var ord int
	scan := newRecordScan(&ord)
	err := query(ctx, s.pool, s.sql.get, []any{keys}, func(rows pgx.Rows) error {
		if err := scan.read(rows); err != nil {
			return err
		}
		return scan.place(found, ord)
	})
	return found, err
}
