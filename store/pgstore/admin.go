package pgstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

var _ store.Admin = (*Admin)(nil)

// Admin is a [store.Admin] in Postgres, beside a store: it uses the pool that the store
// was made with, and its Options, and ends with it. Its database user needs SELECT and INSERT on
// idempotency_audit as well; who only looks, with [Options.ReadOnly], needs SELECT.
type Admin struct {
	store *Store
	sql   adminStatements
}

// Admin returns what operators need of the store. Counting and looking through a
// large table take longer than a worker's calls: give the store a CallTimeout to
// match.
func (s *Store) Admin() *Admin {
	return &Admin{store: s, sql: newAdminStatements(s.options)}
}

// Audit reads the trail of a key, or of all.
func (a *Admin) Audit(ctx context.Context, key string, limit int) ([]store.Audit, error) {
	if limit < 1 {
		return nil, nil
	}
	sql, args := a.sql.audit, []any{limit}
	if key != "" {
		if err := validText(key, "Key", key); err != nil {
			return nil, err
		}
		sql, args = a.sql.auditOf, []any{limit, key}
	}
	return once(ctx, a.store, "audit", key, func(ctx context.Context) (trail []store.Audit, err error) {
		err = query(ctx, a.store.callers, sql, args, func(rows pgx.Rows) error {
			var t store.Audit
			var before, after *string
			err := rows.Scan(&t.ID, &t.At, &t.Key, &t.Verb, &t.Actor, &t.Reason, &before, &after)
			t.At, t.Before, t.After = t.At.UTC(), document(before), document(after)
			trail = append(trail, t)
			return err
		})
		return trail, err
	})
}

func document(text *string) []byte {
	if text == nil {
		return nil
	}
	return []byte(*text)
}

// utc returns the time, or the zero time for none.
func utc(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}
