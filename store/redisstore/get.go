package redisstore

import (
	"context"
	"fmt"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// Get reads one record with its result, from the primary.
func (s *Store) Get(ctx context.Context, key string) (store.Record, error) {
	records, err := carryOut(ctx, s, transition[string, store.Record]{
		name: "get", script: getScript,
		key:  func(key string) (string, error) { return key, nil },
		args: func(string) []any { return nil },
		read: func(key string, reply any) (store.Record, error) {
			if reply == "missing" {
				return store.Record{}, fmt.Errorf("%w: key %q", store.ErrNotFound, key)
			}
			return readRecord(key, reply)
		},
	}, []string{key})
	if err != nil {
		return store.Record{}, err
	}
	return records[0], nil
}

// Evict removes nothing and asks nobody: Redis does, when a record's time to live
// is over. Every write sets it anew:
//
//   - A record that is pending or held, or that leaves an effect possible under
//     store.Refuse or store.Verify, has none and stays until it is settled.
//   - A record in progress lives to the end of its retention, or of its lease where
//     that is later; a renewal moves it along. An abandoned one is gone then.
//   - A settled or released record lives to the end of its retention, or for one
//     minute where that is over already.
//
// While Redis is down time goes on: a record is lost if the end of its retention
// and the end of its last lease both pass meanwhile.
func (s *Store) Evict(ctx context.Context, _ int) (int, error) {
	if err := s.requireOpen("evict"); err != nil {
		return 0, err
	}
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("dedupe: evict: %w", err)
	}
	return 0, nil
}
