package pgstore

import (
	"context"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// renewals are the answers of renewSQL.
var renewals = []store.Renewal{store.LeaseRenewed, store.LeaseLost, store.LeaseLocked}

// Renew extends leases through the store's own connections, and waits for
// nobody.
func (s *Store) Renew(ctx context.Context, leases []store.Lease) ([]store.Renewal, error) {
	return carryOut(ctx, s, "renew", leases,
		func(l store.Lease) (string, error) { return l.Key, l.Validate() },
		func(ctx context.Context, rows []store.Lease) ([]store.Renewal, []error) {
			return carryRows(ctx, rows, apart(s.renew))
		})
}

func (s *Store) renew(ctx context.Context, rows []store.Lease) ([]store.Renewal, error) {
	return ask(ctx, s.pool, s.sql.renew, renewalArgs(rows), len(rows), renewals)
}

func renewalArgs(rows []store.Lease) []any {
	return []any{
		column(rows, func(l *store.Lease) string { return l.Key }),
		column(rows, func(l *store.Lease) string { return l.Token.String() }),
		column(rows, func(l *store.Lease) int64 { return microseconds(l.Duration) }),
	}
}
