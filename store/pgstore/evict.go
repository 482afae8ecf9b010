package pgstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// clockTolerance is how far ahead of this machine's clock the database's may be before
// evictions wait for this one.
const clockTolerance = time.Hour

// Evict removes up to limit records in one transaction. Several evictors share
// the work: records that one has locked are skipped by the others.
//
// After a batch that was full the next one begins where it ended, and not with
// the oldest record again: those that may not go would be walked past by every
// batch, which took 50 ms for 100,000 held ones. Who finds less than a batch
// there begins again, so that a short answer always means that nothing is left.
//
// A record goes when its retention is over by the database's clock and, give or take
// [clockTolerance], by this machine's: what a clock that is days ahead has removed would
// be run again.
func (s *Store) Evict(ctx context.Context, limit int) (int, error) {
	if err := s.requireOpen("evict"); err != nil {
		return 0, err
	}
	if limit < 1 {
		return 0, nil
	}
	bounded, cancel := context.WithTimeout(ctx, s.options.CallTimeout)
	defer cancel()
	from := s.evictFrom.Load()
	removed, err := s.evict(bounded, limit, from)
	if err == nil && from > 0 && removed < limit {
		var more int
		more, err = s.evict(bounded, limit-removed, 0)
		removed += more
	}
	if err != nil {
		return removed, s.fault(ctx, "evict", "", err)
	}
	return removed, nil
}

// evict removes up to limit records that expired at from or later.
func (s *Store) evict(ctx context.Context, limit int, from int64) (int, error) {
	type batch struct {
		removed int
		upTo    int64
	}
	b, err := retried(ctx, retryable, func(ctx context.Context) (b batch, err error) {
		err = query(ctx, s.callers, s.callersSQL.evict, []any{[]string{evictionName}, limit, from, s.now().Add(clockTolerance).UnixMicro()}, func(rows pgx.Rows) error {
			return rows.Scan(&b.removed, &b.upTo)
		})
		return b, err
	})
	if b.removed < limit || err != nil {
		b.upTo = 0
	}
	s.evictFrom.Store(b.upTo)
	return b.removed, err
}
