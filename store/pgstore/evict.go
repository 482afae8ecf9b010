package pgstore

import (
	"context"
)

// Evict removes up to limit records in one transaction. Several evictors share
// the work: records that one has locked are skipped by the others.
func (s *Store) Evict(ctx context.Context, limit int) (int, error) {
	if err := s.requireOpen("evict"); err != nil {
		return 0, err
	}
	if limit < 1 {
		return 0, nil
	}
	bounded, cancel := context.WithTimeout(ctx, s.options.CallTimeout)
	defer cancel()
	removed, err := retried(bounded, s, retryable, func(ctx context.Context) (int, error) {
		tag, err := s.pool.Exec(ctx, s.sql.evict, limit)
		return int(tag.RowsAffected()), err
	})
	if err != nil {
		return 0, s.fault(ctx, "evict", "", err)
	}
	return removed, nil
}
