package main

import (
	"context"
	"fmt"

	"github.com/seed5aa7bdf6/temporal-dedupe/bench/internal/report"
)

// sizedCallers is how many call at once where the size of the table is at issue,
// or who else is at work.
const sizedCallers = 64

// refilled is up to how many rows a table is filled again before each turn: it
// would grow to a multiple of its size otherwise.
const refilled = 100_000

// fresh part of a table's rows is inserted after the checkpoint, before the first
// turn. The first change of a page after a checkpoint logs the whole page, and rows in
// random order change each page of a large index once, at the beginning of the quarter
// of an hour that lies between two checkpoints: turns of seconds right after one would
// measure little else.
const fresh = 10

// longer is how many times as long as others these turns are: the caches are another
// table's at the beginning of each.
const longer = 4

// tableSizes compares tables of several sizes, all of which are there from the
// first round on. There is no checkpoint between the turns.
func (b *bench) tableSizes(ctx context.Context) error {
	var contenders []contender
	for i, rows := range b.sizes {
		schema := fmt.Sprintf("sized_%d", i)
		if err := b.sizedTable(ctx, schema, rows); err != nil {
			return err
		}
		contenders = append(contenders, b.library(grouped, schema, cycle))
	}
	if err := b.server.calm(ctx); err != nil {
		return err
	}
	for i, rows := range b.sizes {
		if err := b.server.fill(ctx, contenders[i].schema, rows+1, rows+rows/fresh, completed); err != nil {
			return err
		}
	}
	for round := range b.rounds {
		b.say("  round %d of %d", round+1, b.rounds)
		for _, i := range turns(len(contenders), round) {
			c, rows := contenders[i], b.sizes[i]
			if rows <= refilled && round > 0 {
				if err := b.sizedTable(ctx, c.schema, rows); err != nil {
					return err
				}
			}
			t, _, err := c.run(ctx, sizedCallers, longer*b.duration)
			if err != nil {
				return err
			}
			b.Add(report.Point{What: report.SizedCycles, By: c.by, Callers: sizedCallers, Rows: rows}, round, t.rate)
			b.say("    %s rows: %s cycles/s", report.Count(rows), report.Number(t.rate))
		}
	}
	return nil
}

// sizedTable makes a table of so many completed records, and measures it once.
func (b *bench) sizedTable(ctx context.Context, schema string, rows int) error {
	if err := b.server.schema(ctx, schema); err != nil {
		return err
	}
	if err := b.server.fill(ctx, schema, 1, rows, completed); err != nil {
		return err
	}
	var heap, indexes int64
	table := schema + ".idempotency_records"
	err := b.server.admin.QueryRow(ctx, "SELECT pg_table_size($1::regclass), pg_indexes_size($1::regclass)", table).Scan(&heap, &indexes)
	if err != nil {
		return err
	}
	b.setOnce(report.Point{What: report.RowBytes, By: report.Grouped, Rows: rows}, float64(heap)/float64(rows))
	b.setOnce(report.Point{What: report.IndexBytes, By: report.Grouped, Rows: rows}, float64(indexes)/float64(rows))
	return nil
}

func (b *bench) setOnce(p report.Point, value float64) {
	if len(b.Values(p)) == 0 {
		b.Add(p, 0, value)
	}
}
