package pgstore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// settledLocked is the answer for a record that somebody else has locked; no
// caller sees it.
const settledLocked store.Settled = "locked"

// settleds are the answers of settleSQL and settleAloneSQL.
var settleds = []store.Settled{store.SettledApplied, store.SettledStale, store.SettledMissing, settledLocked}

// Settle ends executions through the store's own connections. It settles first,
// in one statement, what nobody has locked, and then waits for the rest, one by
// one and as long as the call lasts; but for what somebody else would hold, which is
// not for long where somebody is at work on it.
func (s *Store) Settle(ctx context.Context, settlements []store.Settlement) ([]store.Settled, error) {
	return carryOut(ctx, s, "settle", settlements,
		func(t store.Settlement) (string, error) { return t.Key, t.Validate() },
		func(ctx context.Context, rows []store.Settlement) ([]store.Settled, []error) {
			settled, errs := carryRows(ctx, rows, s.settling)
			for i := range rows {
				switch {
				case settled[i] != settledLocked:
				case rows[i].Outcome == store.OutcomeHold && !rows[i].OwnLease:
					// Its owner may be alive, in a transaction that has outlasted the
					// lease and would renew it in the end.
					settled[i], errs[i] = "", errLocked
				default:
					settled[i], errs[i] = s.settleLocked(ctx, rows[i])
				}
			}
			return settled, errs
		})
}

// settle carries out the settlements of records that nobody has locked.
func (s *Store) settle(rows []store.Settlement, settled []store.Settled) statement {
	if slices.ContainsFunc(rows, func(t store.Settlement) bool { return t.Outcome != store.OutcomeComplete }) {
		return asking(s.sql.settle, settlementArgs(rows), settled, settleds)
	}
	q := s.complete(rows, settled)
	q.then = func(ctx context.Context) error {
		if !slices.Contains(settled, "") {
			return nil
		}
		var at []int
		var rest []store.Settlement
		for i, t := range rows {
			if settled[i] == "" {
				at, rest = append(at, i), append(rest, t)
			}
		}
		others, err := ask(ctx, s.pool, s.sql.settle, settlementArgs(rest), len(rest), settleds)
		for j, i := range at {
			settled[i] = others[j]
		}
		return err
	}
	return q
}

// complete records results where nothing is in the way. Its answer is empty for the
// other rows, which are as they were.
func (s *Store) complete(rows []store.Settlement, settled []store.Settled) statement {
	type settlement = store.Settlement
	args := func(one bool) []any {
		return []any{
			argument(rows, one, func(t *settlement) string { return t.Key }),
			argument(rows, one, func(t *settlement) string { return t.Token.String() }),
			argument(rows, one, func(t *settlement) []byte { return t.Result }),
			argument(rows, one, func(t *settlement) int64 { return t.ResultSize }),
			argument(rows, one, func(t *settlement) string { return string(t.Tombstone) }),
		}
	}
	return statement{sql: s.sql.complete, one: ifOne(rows, s.sql.one.complete), args: args, scan: func(rows pgx.Rows) error {
		var ord int
		if err := rows.Scan(&ord); err != nil {
			return err
		}
		if ord < 1 || ord > len(settled) {
			return errAnswer
		}
		settled[ord-1] = store.SettledApplied
		return nil
	}}
}

// settleLocked waits for whoever has locked the record.
func (s *Store) settleLocked(ctx context.Context, row store.Settlement) (store.Settled, error) {
	return retried(ctx, func(err error) bool {
		return retryable(err) || errors.Is(err, errStillLocked)
	}, func(ctx context.Context) (store.Settled, error) {
		if !s.settler.take(ctx) {
			return "", ctx.Err()
		}
		defer s.settler.leave()
		return s.settleAlone(ctx, row)
	})
}

// errStillLocked: the record was deleted, or changed in a way that the
// statement's snapshot did not show, while the statement waited for it.
var errStillLocked = fmt.Errorf("%w: the record changed hands while its settlement waited", store.ErrContended)

// errLocked: somebody is at work on a record that was to be held.
var errLocked = fmt.Errorf("%w: a transaction has locked the record", store.ErrContended)

func (s *Store) settleAlone(ctx context.Context, row store.Settlement) (store.Settled, error) {
	rows := []store.Settlement{row}
	args := append(settlementArgs(rows), lockTimeout(patience(ctx)))
	settled, err := ask(ctx, s.pool, s.sql.settleAlone, args, 1, settleds)
	if err == nil && settled[0] == settledLocked {
		err = errStillLocked
	}
	return settled[0], err
}

func settlementArgs(rows []store.Settlement) []any {
	type settlement = store.Settlement
	return []any{
		column(rows, func(t *settlement) string { return t.Key }),
		column(rows, func(t *settlement) string { return t.Token.String() }),
		column(rows, func(t *settlement) string { return string(t.Outcome) }),
		column(rows, func(t *settlement) []byte { return t.Result }),
		column(rows, func(t *settlement) int64 { return t.ResultSize }),
		column(rows, func(t *settlement) string { return string(t.Tombstone) }),
		column(rows, func(t *settlement) []byte { return t.Failure }),
		column(rows, func(t *settlement) bool { return t.NonRetryable }),
		column(rows, func(t *settlement) bool { return t.EffectPossible }),
		column(rows, func(t *settlement) bool { return t.NewGeneration }),
		column(rows, func(t *settlement) bool { return t.OwnLease }),
		column(rows, func(t *settlement) int64 { return microseconds(t.Lease) }),
	}
}
