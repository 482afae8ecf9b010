package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// resolveds are the answers of the statements that change records.
var resolveds = []store.Resolved{
	store.ResolvedDone, store.ResolvedChanged, store.ResolvedLive, store.ResolvedMissing, store.ResolvedLocked, store.ResolvedNewer,
}

// Resolve gives records an operator's word.
func (a *Admin) Resolve(ctx context.Context, order store.Order, changes []store.Change) ([]store.Resolved, error) {
	return a.change(ctx, "resolve", order, changes, func(v store.Verb) bool { return v != store.VerbPurge && v != store.VerbDelete })
}

// Purge removes results or records.
func (a *Admin) Purge(ctx context.Context, order store.Order, changes []store.Change) ([]store.Resolved, error) {
	return a.change(ctx, "purge", order, changes, func(v store.Verb) bool { return v == store.VerbPurge || v == store.VerbDelete })
}

func (a *Admin) change(
	ctx context.Context, name string, order store.Order, changes []store.Change, serves func(store.Verb) bool,
) ([]store.Resolved, error) {
	if err := order.Validate(); err != nil {
		return nil, err
	}
	order.Actor, order.Reason = forPeople(order.Actor), forPeople(order.Reason)
	valid := func(c store.Change) (string, error) {
		if !serves(c.Verb) {
			return "", fmt.Errorf("%w: key %q: Verb %q is none of %s", store.ErrInvalidArgument, c.Key, c.Verb, name)
		}
		return c.Key, c.Validate()
	}
	return carryOut(ctx, a.store, name, changes, valid,
		func(ctx context.Context, rows []store.Change) ([]store.Resolved, []error) {
			answers, errs := make([]store.Resolved, len(rows)), make([]error, len(rows))
			for _, part := range a.parts(name) {
				a.carryOutPart(ctx, order, rows, part, answers, errs)
			}
			return answers, errs
		})
}

// part is the statement that serves some of the verbs.
type part struct {
	serves func(store.Verb) bool
	do     func(context.Context, store.Order, []store.Change) ([]store.Resolved, error)
}

func (a *Admin) parts(name string) []part {
	if name == "resolve" {
		return []part{{func(store.Verb) bool { return true }, a.resolve}}
	}
	return []part{
		{func(v store.Verb) bool { return v == store.VerbPurge }, a.purge},
		{func(v store.Verb) bool { return v == store.VerbDelete }, a.remove},
	}
}

// carryOutPart carries out those of the changes that the statement serves, and
// puts their answers where they belong.
func (a *Admin) carryOutPart(
	ctx context.Context, order store.Order, rows []store.Change, p part, answers []store.Resolved, errs []error,
) {
	var mine []store.Change
	var at []int
	for i, row := range rows {
		if p.serves(row.Verb) {
			mine, at = append(mine, row), append(at, i)
		}
	}
	if len(mine) == 0 {
		return
	}
	got, failed := carryRows(ctx, mine, apart(func(ctx context.Context, rows []store.Change) ([]store.Resolved, error) {
		return p.do(ctx, order, rows)
	}))
	for i := range mine {
		answers[at[i]], errs[at[i]] = got[i], failed[i]
	}
}

func (a *Admin) resolve(ctx context.Context, order store.Order, rows []store.Change) ([]store.Resolved, error) {
	args := append(changeArgs(order, rows),
		column(rows, func(t *store.Change) string { return string(t.Verb) }),
		column(rows, func(t *store.Change) bool { return t.FreshKey }),
		column(rows, func(t *store.Change) []byte { return t.Result }),
		column(rows, func(t *store.Change) []byte { return t.Failure }),
		column(rows, func(t *store.Change) int64 { return microseconds(t.Keep) }),
	)
	return ask(ctx, a.store.callers, a.sql.resolve, args, len(rows), resolveds)
}

func (a *Admin) purge(ctx context.Context, order store.Order, rows []store.Change) ([]store.Resolved, error) {
	return ask(ctx, a.store.callers, a.sql.purge, changeArgs(order, rows), len(rows), resolveds)
}

// remove deletes records. One that is gone may have been deleted by this very
// change, when the answer to it was lost.
func (a *Admin) remove(ctx context.Context, order store.Order, rows []store.Change) ([]store.Resolved, error) {
	answers, err := ask(ctx, a.store.callers, a.sql.remove, changeArgs(order, rows), len(rows), resolveds)
	for i := range rows {
		if err != nil || answers[i] != store.ResolvedMissing {
			continue
		}
		args := []any{rows[i].Key, order.Actor, order.Reason, rows[i].Seen.Token.String()}
		var ours bool
		err = query(ctx, a.store.callers, a.sql.removed, args, func(rows pgx.Rows) error { return rows.Scan(&ours) })
		if ours {
			answers[i] = store.ResolvedDone
		}
	}
	return answers, err
}

func changeArgs(order store.Order, rows []store.Change) []any {
	return []any{
		column(rows, func(t *store.Change) string { return t.Key }),
		column(rows, func(t *store.Change) string { return t.Seen.Token.String() }),
		column(rows, func(t *store.Change) string { return string(t.Seen.Status) }),
		column(rows, func(t *store.Change) bool { return t.Seen.Held }),
		column(rows, func(t *store.Change) bool { return t.Seen.Pending }),
		column(rows, func(t *store.Change) bool { return t.Seen.EffectPossible }),
		column(rows, func(t *store.Change) int64 { return int64(t.Seen.Generation) }),
		column(rows, func(t *store.Change) string { return string(t.Seen.Tombstone) }),
		column(rows, func(t *store.Change) string { return t.Named() }),
		column(rows, func(t *store.Change) string { return t.Token.String() }),
		column(rows, func(t *store.Change) bool { return t.Force }),
		order.Actor, order.Reason, store.RecordVersion,
	}
}
