package redisstore

import (
	"context"
	"strconv"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// Reserve inserts the records that are absent and answers the others, in one
// round trip. At maxmemory it answers [store.ErrFull] for a record that is
// absent; of a call for many, others may then have been inserted, and it is
// [store.ErrUnavailable].
func (s *Store) Reserve(ctx context.Context, reservations []store.Reservation) ([]store.Found, error) {
	return carryOut(ctx, s, transition[store.Reservation, store.Found]{
		name: "reserve", script: reserveScript, key: s.validReservation,
		args: func(r store.Reservation) []any { return append(terms(r), fields(r)...) },
		read: func(r store.Reservation, reply any) (store.Found, error) {
			if reply == "inserted" {
				return store.Found{Inserted: true}, nil
			}
			record, err := readRecord(r.Key, reply)
			return store.Found{Exists: true, Record: record}, err
		},
	}, reservations)
}

// Acquire gives records to new owners where they still are as they were seen.
func (s *Store) Acquire(ctx context.Context, acquisitions []store.Acquisition) ([]store.Acquired, error) {
	return carryOut(ctx, s, transition[store.Acquisition, store.Acquired]{
		name: "acquire", script: acquireScript,
		key: func(a store.Acquisition) (string, error) { return s.validReservation(a.Reservation) },
		args: func(a store.Acquisition) []any {
			seen := append(terms(a.Reservation), a.SeenToken.String(), string(a.SeenStatus), flag(a.SeenHeld))
			return append(seen, fields(a.Reservation)...)
		},
		read: func(_ store.Acquisition, reply any) (store.Acquired, error) {
			text, _ := reply.(string)
			if text == "missed" {
				return store.Acquired{}, nil
			}
			generation, err := strconv.Atoi(text)
			if err != nil {
				return store.Acquired{}, errAnswer
			}
			return store.Acquired{OK: true, Generation: generation}, nil
		},
	}, acquisitions)
}
