package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// Get reads one record with its result.
func (s *Store) Get(ctx context.Context, key string) (store.Record, error) {
	keys := func(key string) (string, error) { return key, nil }
	records, err := carryOut(ctx, s, "get", []string{key}, keys,
		func(ctx context.Context, rows []string) ([]store.Record, []error) {
			return batch(ctx, s, rows, direct(s.get), direct(s.get))
		})
	if err != nil {
		return store.Record{}, err
	}
	return records[0], nil
}

func (s *Store) get(ctx context.Context, keys []string) ([]store.Record, error) {
	var records []store.Record
	err := query(ctx, s.pool, s.sql.get, []any{keys}, func(rows pgx.Rows) error {
		record, err := scanRecord(rows)
		records = append(records, record)
		return err
	})
	if err == nil && len(records) == 0 {
		err = fmt.Errorf("%w: key %q", store.ErrNotFound, keys[0])
	}
	return records, err
}
