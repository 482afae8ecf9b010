package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

var _ store.Maintained = (*Store)(nil)

// RecordPass writes into table idempotency_maintenance that a pass has ended.
// Several workers share the row: it tells of the latest pass of any.
func (s *Store) RecordPass(ctx context.Context, p store.Pass) error {
	_, err := once(ctx, s, "record eviction", "", func(ctx context.Context) (pgconn.CommandTag, error) {
		return s.callers.Exec(ctx, s.maintenance.record, evictionName, microseconds(p.Duration), int64(p.Removed), forPeople(p.ID))
	})
	return err
}

// CountHeld counts the records that wait for an operator, in an index that holds
// those alone.
func (s *Store) CountHeld(ctx context.Context) (int64, error) {
	return once(ctx, s, "count held records", "", func(ctx context.Context) (held int64, err error) {
		err = query(ctx, s.callers, s.maintenance.countHeld, nil, func(rows pgx.Rows) error { return rows.Scan(&held) })
		return held, err
	})
}

// evictionName is the row of the evictor.
const evictionName = "evict"
