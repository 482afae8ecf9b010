package main

import (
	"context"

	"github.com/seed5aa7bdf6/temporal-dedupe/bench/internal/report"
)

// cycles compares calls that are new, on tables that are empty at first.
func (b *bench) cycles(ctx context.Context) error {
	steps, err := b.startDBOS(ctx)
	if err != nil {
		return err
	}
	defer steps.stop()
	contenders := []contender{
		b.library(grouped, grouped.schema, cycle), b.library(single, single.schema, cycle),
		b.pgbench("pgbench", cycleScript), steps.contender(),
	}
	for _, c := range contenders {
		if c.by != report.DBOS {
			if err := b.server.schema(ctx, c.schema); err != nil {
				return err
			}
		}
	}
	for round := range b.rounds {
		b.say("  round %d of %d", round+1, b.rounds)
		for _, callers := range b.callers {
			for _, i := range turns(len(contenders), round) {
				c := contenders[i]
				m := measures{report.Cycles, report.CyclesP99, report.CyclesClient, report.CyclesServer, report.CyclesWAL, report.CyclesHOT}
				updates, empty := 1, "TRUNCATE "+c.schema+".idempotency_records"
				if c.by == report.DBOS {
					updates, empty = 0, dbosEmpty
				}
				if err := b.server.exec(ctx, empty); err != nil {
					return err
				}
				if err := b.server.calm(ctx); err != nil {
					return err
				}
				if err := b.turn(ctx, c, m, round, callers, updates); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// replays compares calls whose answer is there with reads of a row by its key.
func (b *bench) replays(ctx context.Context) error {
	const schema = "replays"
	if err := b.server.schema(ctx, schema); err != nil {
		return err
	}
	if err := b.server.fill(ctx, schema, 1, b.replayRows, completed); err != nil {
		return err
	}
	if err := b.server.calm(ctx); err != nil {
		return err
	}
	contenders := []contender{
		b.library(grouped, schema, replay(b.replayRows)), b.library(single, schema, replay(b.replayRows)),
		b.pgbench(schema, readScript(b.replayRows)),
	}
	m := measures{rate: report.Replays, p99: report.ReplaysP99, client: report.ReplaysClient, server: report.ReplaysServer}
	for round := range b.rounds {
		b.say("  round %d of %d", round+1, b.rounds)
		for _, callers := range b.replayCallers {
			for _, i := range turns(len(contenders), round) {
				if err := b.turn(ctx, contenders[i], m, round, callers, 0); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
