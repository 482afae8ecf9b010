package command

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// apply changes the records that can be. What was done before an error stands in
// the report.
func (r *report) apply(ctx context.Context, a store.Admin, order store.Order, q request) error {
	var at []int
	for i := range r.Records {
		if r.Records[i].Result == resultWould {
			at = append(at, i)
			r.Records[i].Result, r.Records[i].Why = resultNot, "it was not tried after an error"
		}
	}
	for part := range slices.Chunk(at, changeBatch) {
		changes := make([]store.Change, len(part))
		for i, n := range part {
			changes[i] = q.change
			changes[i].Key, changes[i].Seen, changes[i].Token = r.Records[n].Key, r.Records[n].seen, store.NewToken()
		}
		err := r.change(ctx, a, order, q, part, changes)
		if answered(err) && !pgstore.Unchanged(err) && len(part) > 1 {
			// Some were changed, or others refused: each is asked for by itself. What
			// was carried out before is known by its token.
			err = nil
			for i := range part {
				one := r.change(ctx, a, order, q, part[i:i+1], changes[i:i+1])
				if err == nil {
					err = one
				}
				if one != nil && !pgstore.Unchanged(one) {
					break
				}
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// change carries out one statement's changes, and notes what came of each.
func (r *report) change(ctx context.Context, a store.Admin, order store.Order, q request, at []int, changes []store.Change) error {
	answers, err := q.apply(ctx, a, order, changes)
	for i, n := range at {
		one := &r.Records[n]
		switch {
		case err == nil:
			one.Result, one.Why = string(answers[i]), why[answers[i]]
		case pgstore.Unchanged(err):
			one.Result, one.Why = resultNot, strings.TrimPrefix(err.Error(), "dedupe: ")
		default:
			one.Result, one.Why = resultUnknown, "the database did not answer: `dedupe records audit` has it if it was changed"
		}
	}
	return err
}

// answered tells whether an error is the database's own.
func answered(err error) bool {
	var answer *pgconn.PgError
	return errors.As(err, &answer)
}
