package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// reservePasses bounds how often Reserve looks again for records that somebody
// inserted at the same moment, or somebody evicted.
const reservePasses = 3

// Reserve inserts the records that are absent and answers the others, in one
// round trip. A record that another transaction inserts at the same moment is
// neither; a second round trip finds it, unless it was evicted again.
func (s *Store) Reserve(ctx context.Context, reservations []store.Reservation) ([]store.Found, error) {
	return carryOut(ctx, s, "reserve", reservations, validReservation,
		func(ctx context.Context, rows []store.Reservation) ([]store.Found, []error) {
			found, errs := batch(ctx, s, rows, s.reserving, direct(s.reserve))
			for range reservePasses - 1 {
				if !s.reserveUnseen(ctx, rows, found, errs) {
					break
				}
			}
			return found, errs
		})
}

// reserveUnseen reserves again what was neither inserted nor seen, and tells
// whether there was any.
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
	again, failed := batch(ctx, s, unseen, s.reserving, direct(s.reserve))
	for j, i := range at {
		found[i], errs[i] = again[j], failed[j]
	}
	return true
}

func (s *Store) reserve(ctx context.Context, rows []store.Reservation) ([]store.Found, error) {
	args := reservationArgs(rows, func(r *store.Reservation) *store.Reservation { return r })
	found := make([]store.Found, len(rows))
	at := make(map[string]int, len(rows))
	for i := range rows {
		at[rows[i].Key] = i
	}
	place := func(key string, f store.Found) error {
		i, asked := at[key]
		if !asked {
			return errAnswer
		}
		found[i] = f
		return nil
	}
	sql := s.sql.reserve
	if len(rows) > 1 {
		sql = s.sql.reserveTogether
	}
	err := query(ctx, s.pool, sql, args, func(rows pgx.Rows) error {
		var inserted []string
		if err := rows.Scan(append([]any{&inserted}, make([]any, recordWidth)...)...); err != nil {
			return err
		}
		if inserted == nil {
			record, err := scanRecord(rows, nil)
			if err != nil {
				return err
			}
			return place(record.Key, store.Found{Exists: true, Record: record})
		}
		for _, key := range inserted {
			if err := place(key, store.Found{Inserted: true}); err != nil {
				return err
			}
		}
		return nil
	})
	return found, err
}
