package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/bench/internal/report"
)

// counters are the server's and this process's, read before and after a turn.
type counters struct {
	wal          int64 // where the next byte of WAL goes
	server, own  time.Duration
	updates, hot int64 // of a schema's records
}

func (b *bench) read(ctx context.Context, schema string) (counters, error) {
	c := counters{server: serverCPU(b.server.postmaster), own: ownCPU()}
	err := b.server.admin.QueryRow(ctx, `SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint,
		coalesce(sum(n_tup_upd), 0)::bigint, coalesce(sum(n_tup_hot_upd), 0)::bigint
		FROM pg_stat_user_tables WHERE schemaname = $1 AND relname = 'idempotency_records'`, schema).
		Scan(&c.wal, &c.updates, &c.hot)
	return c, err
}

// settledCounters reads the counters once the statistics know of n more updates:
// sessions tell of their last ones when they end.
func (b *bench) settledCounters(ctx context.Context, schema string, before counters, n int) (counters, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 10*time.Second, errors.New("the server's statistics do not tell of the updates"))
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		c, err := b.read(ctx, schema)
		if err == nil && c.updates-before.updates >= int64(n) {
			return c, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return c, errors.Join(err, context.Cause(ctx))
		}
	}
}

// measures are what a turn is kept as.
type measures struct{ rate, p99, client, server, wal, hot string }

// turn gives a contender its turn, and keeps what came of it. updates is how many
// updates of records one thing of the contender's is; without any, or for one
// whose tables are others, nobody waits for the statistics.
func (b *bench) turn(ctx context.Context, c contender, m measures, round, callers, updates int) error {
	before, err := b.read(ctx, c.schema)
	if err != nil {
		return err
	}
	t, child, err := c.run(ctx, callers, b.duration)
	if err != nil {
		return fmt.Errorf("%s with %d callers: %w", c.by, callers, err)
	}
	after, err := b.settledCounters(ctx, c.schema, before, updates*t.total)
	if err != nil {
		return err
	}
	keep := func(what string, value float64) {
		if what != "" {
			b.Add(report.Point{What: what, By: c.by, Callers: callers}, round, value)
		}
	}
	each := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 / float64(t.total) }
	keep(m.rate, t.rate)
	keep(m.client, each(after.own-before.own+child))
	keep(m.wal, float64(after.wal-before.wal)/float64(t.total))
	if len(t.latencies) > 0 {
		keep(m.p99, t.p99())
	}
	if server := after.server - before.server; server > 0 {
		keep(m.server, each(server))
	}
	if n := after.updates - before.updates; n > 0 {
		keep(m.hot, 100*float64(after.hot-before.hot)/float64(n))
	}
	b.say("    %d callers, %s: %s %s", callers, c.by, report.Number(t.rate), report.Measures[m.rate].Unit)
	return nil
}
