package doctor

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// The check reads a bounded part of the primary key, and the rows that belong to it.
const (
	maxKinds      = 500   // a fleet with one KeyPrefix has a dozen
	maxHeaderless = 5_000 // of each; one is enough to know
)

// checkWorkflowSide looks for calls that a workflow has made without the header of the
// workflow side: they are known by their scheduling, of which a reset makes another.
func checkWorkflowSide(ctx context.Context, e *exam) (findings []string, err error) {
	kinds, err := e.lines(ctx, kindsSQL, maxKinds)
	if err != nil {
		return nil, err
	}
	for _, kind := range kinds {
		found, err := e.headerless(ctx, kind)
		if err != nil {
			return findings, err
		}
		findings = append(findings, found...)
	}
	return findings, nil
}

// headerless describes the young records of a kind, by activity type.
func (e *exam) headerless(ctx context.Context, kind string) (found []string, err error) {
	err = e.within(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, e.named(headerlessSQL), kind, maxHeaderless)
		if err != nil {
			return err
		}
		found, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
			var name string
			var g group
			err := row.Scan(&name, &g.count, &g.key)
			return fmt.Sprintf("%d records of %s, made by workflows since yesterday, have a key that ends with their scheduling, such as %q",
				g.count, name, g.key), err
		})
		return err
	})
	return found, err
}
