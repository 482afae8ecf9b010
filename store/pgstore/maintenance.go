package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

var _ store.Maintained = (*Store)(nil)

// RecordPass writes into table idempotency_maintenance that a pass has ended.
// Several workers share the row: it tells of the latest pass of any.
func (s *Store) RecordPass(ctx context.Context, p store.Pass) error {
	return s.maintain(ctx, "record eviction", func(ctx context.Context) error {
		_, err := s.callers.Exec(ctx, s.maintenance.record, evictionName, microseconds(p.Duration), int64(p.Removed), forPeople(p.ID))
		return err
	})
}

// CountHeld counts the records that wait for an operator, in an index that holds
// those alone.
func (s *Store) CountHeld(ctx context.Context) (held int64, err error) {
	err = s.maintain(ctx, "count held records", func(ctx context.Context) error {
		return query(ctx, s.callers, s.maintenance.countHeld, nil, func(rows pgx.Rows) error { return rows.Scan(&held) })
	})
	return held, err
}

// evictionName is the row of the evictor.
const evictionName = "evict"

// maintain bounds one statement of maintenance, and tries it again.
func (s *Store) maintain(ctx context.Context, name string, do func(context.Context) error) error {
	if err := s.requireOpen(name); err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, s.options.CallTimeout)
	defer cancel()
	_, err := retried(bounded, s, retryable, func(ctx context.Context) (struct{}, error) { return struct{}{}, do(ctx) })
	if err != nil {
		return s.fault(ctx, name, "", err)
	}
	return nil
}
