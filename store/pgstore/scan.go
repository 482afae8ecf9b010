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

// recordScan reads records, one after the other, into the same memory.
type recordScan struct {
	store.Record
	token, status, policy, tombstone string
	leaseLeft                        int64
	scheduledAt                      *time.Time
	targets                          []any
}

// newRecordScan reads the columns lead, and then recordColumns.
func newRecordScan(lead ...any) *recordScan {
	s := &recordScan{}
	s.targets = append(lead, s.columns()...)
	return s
}

// newPackedScan reads the columns lead, and then recordPacked, which may be NULL.
func newPackedScan(lead ...any) *recordScan {
	s := &recordScan{}
	s.targets = append(lead, packedRecord(s.columns()))
	return s
}

// packedRecord is a record in one column, by the targets of its fields. It is a
// [pgtype.CompositeIndexScanner].
type packedRecord []any

func (p packedRecord) ScanNull() error { return nil }

func (p packedRecord) ScanIndex(i int) any {
	if i >= len(p) {
		return nil // which the driver skips
	}
	return p[i]
}

// columns are where the columns of a record go.
func (s *recordScan) columns() []any {
	r := &s.Record
	return []any{
		&r.Key, &r.Version, &s.status, &r.Hash, &s.token,
		&s.policy, &r.EffectPossible, &r.Held, &r.Pending, &r.NonRetryable,
		&r.Generation, &r.Acquisitions,
		&s.leaseLeft,
		&r.Result, &r.ResultSize, &s.tombstone, &r.Failure,
		&r.CreatedAt, &r.UpdatedAt, &r.ExpiresAt,
		&r.Lineage, &r.Invocation, &r.Namespace, &r.WorkflowID, &r.RunID, &r.ActivityID,
		&r.ActivityType, &s.scheduledAt, &r.Attempt, &r.Owner, &r.TraceParent,
	}
}

// read reads a row, and leaves in s.Record what it says.
func (s *recordScan) read(rows pgx.Rows) error {
	s.Record = store.Record{}
	return rows.Scan(s.targets...)
}

// record is the record in the row that was read.
func (s *recordScan) record() (store.Record, error) {
	r := s.Record
	var err error
	if r.Token, err = store.ParseToken(s.token); err != nil {
		return store.Record{}, err
	}
	r.Status, r.Policy, r.Tombstone = store.Status(s.status), store.TakeoverPolicy(s.policy), store.Tombstone(s.tombstone)
	r.LeaseLeft = time.Duration(s.leaseLeft) * time.Microsecond
	r.CreatedAt, r.UpdatedAt, r.ExpiresAt = r.CreatedAt.UTC(), r.UpdatedAt.UTC(), r.ExpiresAt.UTC()
	if s.scheduledAt != nil {
		r.ScheduledAt = s.scheduledAt.UTC()
	}
	return r, nil
}

// place puts the record in the row that was read where its number says.
func (s *recordScan) place(found []store.Found, ord int) (err error) {
	if ord < 1 || ord > len(found) {
		return errAnswer
	}
	found[ord-1].Exists = true
	found[ord-1].Record, err = s.record()
	return err
}

// scanRecord reads the columns lead, and then recordColumns.
func scanRecord(rows pgx.Rows, lead ...any) (store.Record, error) {
	s := newRecordScan(lead...)
	if err := s.read(rows); err != nil {
		return store.Record{}, err
	}
	return s.record()
}

// asking makes a statement whose rows are answers to arguments.
func asking[R ~string](sql string, args []any, answers []R, known []R) statement {
	return statement{sql: sql, args: func(bool) []any { return args }, scan: scanAnswers(answers, known), then: func(context.Context) error {
		if slices.Contains(answers, "") {
			return scanError{errAnswer}
		}
		return nil
	}}
}

// ask carries out the statement that asking makes.
func ask[R ~string](
	ctx context.Context, pool Pool, sql string, args []any, n int, known []R,
) ([]R, error) {
	answers := make([]R, n)
	err := asking(sql, args, answers, known).run(ctx, pool)
	return answers, err
}

// scanAnswers reads the answers of a statement, each with the numbers of the
// arguments that it is for.
func scanAnswers[R ~string](answers []R, known []R) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var ords []int
		var answer string
		if err := rows.Scan(&ords, &answer); err != nil {
			return err
		}
		for _, ord := range ords {
			if !slices.Contains(known, R(answer)) || ord < 1 || ord > len(answers) {
				return errAnswer
			}
			answers[ord-1] = R(answer)
		}
		return nil
	}
}
