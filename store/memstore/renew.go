package memstore

import (
	"context"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// Renew implements [store.Store]. It never answers [store.LeaseLocked].
func (s *Store) Renew(ctx context.Context, leases []store.Lease) ([]store.Renewal, error) {
	if err := check(leases, func(l store.Lease) string { return l.Key }, store.Lease.Validate); err != nil {
		return nil, err
	}
	now, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()

	answers := make([]store.Renewal, len(leases))
	for i, l := range leases {
		r, ok := s.rows[l.Key]
		if !ok || r.record.Token != l.Token || r.record.Status != store.StatusInProgress || r.record.Pending || r.givenUp {
			answers[i] = store.LeaseLost
			continue
		}
		r.leaseEnd, r.leaseFor, r.record.UpdatedAt = now.Add(l.Duration), l.Duration, now
		s.doomed.place(r)
		answers[i] = store.LeaseRenewed
	}
	return answers, nil
}
