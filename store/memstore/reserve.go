package memstore

import (
	"context"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// Reserve implements [store.Store]. When there is no room for all of the keys
// that are absent, none is reserved.
func (s *Store) Reserve(ctx context.Context, reservations []store.Reservation) ([]store.Found, error) {
	if err := check(reservations, func(r store.Reservation) string { return r.Key }, store.Reservation.Validate); err != nil {
		return nil, err
	}
	now, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()

	answers := make([]store.Found, len(reservations))
	absent := 0
	for i, r := range reservations {
		if found, ok := s.rows[r.Key]; ok {
			answers[i] = store.Found{Exists: true, Record: found.read(now)}
			continue
		}
		absent++
	}
	if err := s.makeRoom(absent, reservations, now); err != nil {
		return nil, err
	}
	for i, r := range reservations {
		if !answers[i].Exists {
			s.insert(r, now)
			answers[i] = store.Found{Inserted: true}
		}
	}
	return answers, nil
}

func (s *Store) insert(r store.Reservation, now time.Time) {
	fresh := &row{position: -1, record: store.Record{Version: store.RecordVersion, CreatedAt: now}}
	fresh.own(r, now)
	s.rows[r.Key] = fresh
	s.doomed.place(fresh)
}

// Acquire implements [store.Store].
func (s *Store) Acquire(ctx context.Context, acquisitions []store.Acquisition) ([]store.Acquired, error) {
	if err := check(acquisitions, func(a store.Acquisition) string { return a.Key }, store.Acquisition.Validate); err != nil {
		return nil, err
	}
	now, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()

	answers := make([]store.Acquired, len(acquisitions))
	for i, a := range acquisitions {
		r, ok := s.rows[a.Key]
		if !ok || !hits(a, r, now) {
			continue
		}
		r.own(a.Reservation, now)
		s.doomed.place(r)
		answers[i] = store.Acquired{OK: true, Generation: r.record.Generation}
	}
	return answers, nil
}

// hits tells whether the row is still the one that was decided upon, and free.
func hits(a store.Acquisition, r *row, now time.Time) bool {
	return r.record.Token == a.SeenToken && r.record.Status == a.SeenStatus && r.record.Held == a.SeenHeld &&
		r.record.Status != store.StatusCompleted && !r.leaseLive(now)
}
