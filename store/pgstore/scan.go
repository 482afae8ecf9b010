package pgstore

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

var errAnswer = errors.New("dedupe: pgstore: unexpected answer to a statement")

// recordWidth is how many columns scanRecord reads.
const recordWidth = 31

// scanRecord reads the columns lead, and then recordColumns.
func scanRecord(rows pgx.Rows, lead ...any) (store.Record, error) {
	var r store.Record
	var token, status, policy, tombstone string
	var leaseLeft int64
	var scheduledAt *time.Time
	err := rows.Scan(append(lead,
		&r.Key, &r.Version, &status, &r.Hash, &token,
		&policy, &r.EffectPossible, &r.Held, &r.Pending, &r.NonRetryable,
		&r.Generation, &r.Acquisitions,
		&leaseLeft,
		&r.Result, &r.ResultSize, &tombstone, &r.Failure,
		&r.CreatedAt, &r.UpdatedAt, &r.ExpiresAt,
		&r.Lineage, &r.Invocation, &r.Namespace, &r.WorkflowID, &r.RunID, &r.ActivityID,
		&r.ActivityType, &scheduledAt, &r.Attempt, &r.Owner, &r.TraceParent,
	)...)
	if err != nil {
		return store.Record{}, err
	}
	if r.Token, err = store.ParseToken(token); err != nil {
		return store.Record{}, err
	}
	r.Status, r.Policy, r.Tombstone = store.Status(status), store.TakeoverPolicy(policy), store.Tombstone(tombstone)
	r.LeaseLeft = time.Duration(leaseLeft) * time.Microsecond
	r.CreatedAt, r.UpdatedAt, r.ExpiresAt = r.CreatedAt.UTC(), r.UpdatedAt.UTC(), r.ExpiresAt.UTC()
	if scheduledAt != nil {
		r.ScheduledAt = scheduledAt.UTC()
	}
	return r, nil
}

// ask runs a statement whose rows are answers to arguments, by their names.
func ask[R comparable](
	ctx context.Context, pool Pool, sql string, args []any, n int, names map[string]R,
) ([]R, error) {
	var none R
	answers := make([]R, n)
	err := query(ctx, pool, sql, args, scanAnswers(answers, names))
	if err == nil && slices.Contains(answers, none) {
		err = scanError{errAnswer}
	}
	return answers, err
}

// scanAnswers reads the answers of a statement, each with the numbers of the
// arguments that it is for.
func scanAnswers[R any](answers []R, names map[string]R) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var ords []int
		var name string
		if err := rows.Scan(&ords, &name); err != nil {
			return err
		}
		answer, known := names[name]
		for _, ord := range ords {
			if !known || ord < 1 || ord > len(answers) {
				return errAnswer
			}
			answers[ord-1] = answer
		}
		return nil
	}
}
