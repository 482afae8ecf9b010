package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// Acquire gives records to new owners where they still are as they were seen. A
// record that somebody has locked is a miss: whoever locked it is about to
// change it.
func (s *Store) Acquire(ctx context.Context, acquisitions []store.Acquisition) ([]store.Acquired, error) {
	return carryOut(ctx, s, "acquire", acquisitions, validAcquisition,
		func(ctx context.Context, rows []store.Acquisition) ([]store.Acquired, []error) {
			return carryRows(ctx, rows, s.acquiring)
		})
}

func validAcquisition(a store.Acquisition) (string, error) {
	if !storable(string(a.SeenStatus)) {
		return "", fmt.Errorf("%w: key %q: SeenStatus %q", store.ErrInvalidArgument, a.Key, a.SeenStatus)
	}
	return validReservation(a.Reservation)
}

func (s *Store) acquire(rows []store.Acquisition, acquired []store.Acquired) statement {
	args := func(one bool) []any {
		return append(reservationArgs(rows, one, func(a *store.Acquisition) *store.Reservation { return &a.Reservation }),
			column(rows, func(a *store.Acquisition) string { return a.SeenToken.String() }),
			column(rows, func(a *store.Acquisition) string { return string(a.SeenStatus) }),
			column(rows, func(a *store.Acquisition) bool { return a.SeenHeld }),
		)
	}
	return statement{sql: s.sql.acquire, args: args, scan: func(rows pgx.Rows) error {
		var ord, generation int
		if err := rows.Scan(&ord, &generation); err != nil {
			return err
		}
		if ord < 1 || ord > len(acquired) {
			return errAnswer
		}
		acquired[ord-1] = store.Acquired{OK: true, Generation: generation}
		return nil
	}}
}
