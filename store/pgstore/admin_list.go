package pgstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// List answers the records that a query selects.
func (a *Admin) List(ctx context.Context, q store.Query) ([]store.Entry, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	if len(q.Ranges) == 0 {
		q.Ranges = []store.KeyRange{store.AllKeys()}
	}
	for _, text := range []struct{ field, value string }{
		{"Namespace", q.Namespace}, {"WorkflowID", q.WorkflowID}, {"RunID", q.RunID},
		{"ActivityType", q.ActivityType}, {"After", q.After},
	} {
		if !storable(text.value) {
			return nil, fmt.Errorf("%w: Query.%s has invalid UTF-8 or a zero byte", store.ErrInvalidArgument, text.field)
		}
	}
	for _, r := range q.Ranges {
		if !storable(r.From) || !storable(r.Before) {
			return nil, fmt.Errorf("%w: Query.Ranges: %q to %q has invalid UTF-8 or a zero byte", store.ErrInvalidArgument, r.From, r.Before)
		}
	}
	q.Ranges = merged(q.Ranges)
	args := []any{
		column(q.Ranges, func(r *store.KeyRange) string { return r.From }),
		column(q.Ranges, func(r *store.KeyRange) string { return r.Before }),
		string(q.Status), q.Pending, q.PastLease,
		q.Namespace, q.WorkflowID, q.RunID, q.ActivityType, q.After, q.Limit, q.EffectPossible,
	}
	sql := a.sql.list
	if q.Held {
		sql = a.sql.held
	}
	return a.entries(ctx, "list", sql, args)
}

// merged are the same keys in ranges that do not overlap: each range is read by
// itself, and a record in two of them would be answered twice.
func merged(ranges []store.KeyRange) []store.KeyRange {
	var apart []store.KeyRange
	for _, r := range slices.SortedFunc(slices.Values(ranges), func(x, y store.KeyRange) int { return strings.Compare(x.From, y.From) }) {
		if last := len(apart) - 1; last >= 0 && r.From <= apart[last].Before {
			apart[last].Before = max(apart[last].Before, r.Before)
		} else if r.From < r.Before {
			apart = append(apart, r)
		}
	}
	return apart
}

// Find answers the records of keys.
func (a *Admin) Find(ctx context.Context, keys []string) ([]store.Entry, error) {
	for _, key := range keys {
		if err := validText(key, "Key", key); err != nil {
			return nil, err
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	return a.entries(ctx, "find", a.sql.find, []any{keys})
}

func (a *Admin) entries(ctx context.Context, name, sql string, args []any) ([]store.Entry, error) {
	return once(ctx, a.store, name, "", func(ctx context.Context) (entries []store.Entry, err error) {
		err = query(ctx, a.store.callers, sql, args, func(rows pgx.Rows) error {
			e, err := scanEntry(rows)
			entries = append(entries, e)
			return err
		})
		return entries, err
	})
}

// scanEntry reads entryColumns.
func scanEntry(rows pgx.Rows) (store.Entry, error) {
	var e store.Entry
	var held *time.Time
	var length int64
	record, err := scanRecord(rows, &held, &length, &e.GivenUp, &e.HasResult, &e.FailureSize)
	e.Record, e.HeldSince, e.LeaseLength = record, utc(held), time.Duration(length)*time.Millisecond
	return e, err
}
