package crashtest

import (
	"context"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// mortalStore is a store that the worker does not always survive.
type mortalStore struct {
	store.Store
	plan plan
	die  func()
}

// Reserve dies before the victim's reservation reaches the database.
func (m *mortalStore) Reserve(ctx context.Context, reservations []store.Reservation) ([]store.Found, error) {
	for _, r := range reservations {
		if m.plan.dies(BeforeReservation, r.Key) {
			m.die()
		}
	}
	return m.Store.Reserve(ctx, reservations)
}

// Settle dies after the victim's result is committed.
func (m *mortalStore) Settle(ctx context.Context, settlements []store.Settlement) ([]store.Settled, error) {
	settled, err := m.Store.Settle(ctx, settlements)
	for i, s := range settlements {
		if err == nil && s.Outcome == store.OutcomeComplete && settled[i] == store.SettledApplied && m.plan.dies(BeforeReport, s.Key) {
			m.die()
		}
	}
	return settled, err
}
