package pgstore

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// reservePasses bounds how often Reserve looks again for records that somebody
// inserted at the same moment, or somebody evicted.
const reservePasses = 3

// Reserve inserts the records that are absent and answers the others, in one
// round trip. A record that another transaction inserts at the same moment is
// neither; a second round trip finds it, unless it was evicted again.
//
// A retry most likely has a record: it is looked for first, which costs the
// database half as much, and is inserted in a second round trip where there is
// none.
func (s *Store) Reserve(ctx context.Context, reservations []store.Reservation) ([]store.Found, error) {
	return carryOut(ctx, s, "reserve", reservations, validReservation,
		func(ctx context.Context, rows []store.Reservation) (found []store.Found, errs []error) {
			passes := reservePasses
			if slices.ContainsFunc(rows, retry) {
				found, errs = carryRows(ctx, column(rows, reservationKey), s.getting)
			} else {
				passes--
				found, errs = carryRows(ctx, rows, s.reserving)
			}
			for range passes {
				if !s.reserveUnseen(ctx, rows, found, errs) {
					break
				}
			}
			return found, errs
		})
}

func retry(r store.Reservation) bool { return r.Attempt > 1 }

// reserveUnseen reserves what was neither inserted nor seen, and tells whether there
// was any.
func (s *Store) reserveUnseen(ctx context.Context, rows []store.Reservation, found []store.Found, errs []error) bool {
	var at []int
	var unseen []store.Reservation
	for i, f := range found {
		if errs[i] == nil && !f.Inserted && !f.Exists {
			at, unseen = append(at, i), append(unseen, rows[i])
		}
	}
	if len(unseen) == 0 {
		return false
	}
	again, failed := carryRows(ctx, unseen, s.reserving)
	for j, i := range at {
		found[i], errs[i] = again[j], failed[j]
	}
	return true
}

// reserve waits a moment for a transaction that has inserted one of the keys.
func (s *Store) reserve(rows []store.Reservation, found []store.Found) statement {
	return s.reserveWithin(s.options.stalledAfter(), rows, found)
}

// reserveAlone reserves a row whose statement has failed. Where another transaction has
// inserted its key, it takes turns with others who wait for one: together they would
// wait with all of the store's connections. Who gets no turn looks again.
func (s *Store) reserveAlone(ctx context.Context, rows []store.Reservation) ([]store.Found, error) {
	within := func(wait time.Duration) ([]store.Found, error) {
		found := make([]store.Found, len(rows))
		err := s.reserveWithin(wait, rows, found).run(ctx, s.pool)
		return found, err
	}
	found, err := within(glance)
	if sqlState(err) != codeLockTimeout {
		return found, err
	}
	if !s.reserver.takeSoon(ctx) {
		return found, err
	}
	defer s.reserver.leave()
	return within(patience(ctx))
}

func (s *Store) reserveWithin(wait time.Duration, rows []store.Reservation, found []store.Found) statement {
	var ord, count, insertions int
	var keys, inserted []string // of the insertions, where they are not all that are left
	newScan := newRecordScan
	if s.sql.packed {
		newScan = newPackedScan
	}
	scan := newScan(&ord, &count, &keys)
	return statement{
		sql: s.sql.reserve,
		one: ifOne(rows, s.sql.one.reserve),
		args: func(one bool) []any {
			return append(reservationArgs(rows, one, func(r *store.Reservation) *store.Reservation { return r }), lockTimeout(wait))
		},
		scan: func(rows pgx.Rows) error {
			if err := scan.read(rows); err != nil {
				return err
			}
			if ord == 0 {
				insertions, inserted = count, keys
				return nil
			}
			return scan.place(found, ord)
		},
		then: func(context.Context) error {
			if insertions > 0 && !markInserted(found, rows, insertions, inserted) {
				return scanError{errAnswer}
			}
			return nil
		},
	}
}

// markInserted marks what was inserted, and tells whether the answer makes sense.
func markInserted(found []store.Found, rows []store.Reservation, insertions int, keys []string) bool {
	for i := range found {
		if !found[i].Exists && (keys == nil || slices.Contains(keys, rows[i].Key)) {
			found[i].Inserted = true
			insertions--
		}
	}
	return insertions == 0
}
