package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/bench/internal/report"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

const (
	evictionSchema = "eviction"
	evictors       = 4
	// leasedRows have a live lease although their retention is over: no
	// evictor may take them.
	leasedRows = 1000
	// enough cycles have a 99th percentile.
	enough = 100
)

// eviction measures one evictor alone, and what four of them cost 64 writers.
func (b *bench) eviction(ctx context.Context) error {
	deadlocks, err := b.deadlocks(ctx)
	if err != nil {
		return err
	}
	for round := range b.rounds {
		b.say("  round %d of %d", round+1, b.rounds)
		for _, i := range turns(2, round) {
			if err := b.foreground(ctx, round, i*evictors); err != nil {
				return err
			}
		}
		if err := b.evictAlone(ctx, round); err != nil {
			return err
		}
	}
	after, err := b.deadlocks(ctx)
	if err == nil && after != deadlocks {
		err = fmt.Errorf("there were %d deadlocks, want none", after-deadlocks)
	}
	return err
}

// evictionTable makes a table with expired records, and with leased ones among
// them, unless nobody has evicted from it.
func (b *bench) evictionTable(ctx context.Context) error {
	var left int
	err := b.server.admin.QueryRow(ctx, "SELECT count(*) FROM pg_tables WHERE schemaname = $1", evictionSchema).Scan(&left)
	if err == nil && left > 0 {
		err = b.server.admin.QueryRow(ctx, "SELECT count(*) FROM "+evictionSchema+".idempotency_records WHERE expires_at < clock_timestamp()").Scan(&left)
	}
	if err != nil || left == leasedRows+b.evictionRows {
		return err
	}
	if err := b.server.schema(ctx, evictionSchema); err != nil {
		return err
	}
	if err := b.server.fill(ctx, evictionSchema, 1, leasedRows, leased); err != nil {
		return err
	}
	if err := b.server.fill(ctx, evictionSchema, leasedRows+1, leasedRows+b.evictionRows, expired); err != nil {
		return err
	}
	return b.server.calm(ctx)
}

func (b *bench) evictAlone(ctx context.Context, round int) error {
	if err := b.evictionTable(ctx); err != nil {
		return err
	}
	s, closeStore, err := grouped.open(ctx, b, evictionSchema)
	if err != nil {
		return err
	}
	defer closeStore()
	begun, removed := time.Now(), 0
	for {
		n, err := s.Evict(ctx, b.evictionBatch)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		removed += n
	}
	took := time.Since(begun)
	if removed != b.evictionRows {
		return fmt.Errorf("%d records were evicted, want the %d that had expired", removed, b.evictionRows)
	}
	rate := float64(removed) / took.Seconds()
	b.Add(report.Point{What: report.Eviction, By: report.Grouped}, round, rate)
	b.say("    alone: %s rows/s", report.Number(rate))
	return b.requireLeased(ctx)
}

// foreground lets 64 writers work on a table of expired records beside so many
// evictors. The turn ends when these have nothing left to do.
func (b *bench) foreground(ctx context.Context, round, n int) error {
	if err := b.evictionTable(ctx); err != nil {
		return err
	}
	s, closeStore, err := grouped.open(ctx, b, evictionSchema)
	if err != nil {
		return err
	}
	defer closeStore()
	// Evictors have connections of their own: they run in other processes, too.
	remover, closeRemover, err := grouped.open(ctx, b, evictionSchema)
	if err != nil {
		return err
	}
	defer closeRemover()

	m := newMeter(sizedCallers, b.duration)
	over := make(chan struct{})
	var removed atomic.Int64
	var group sync.WaitGroup
	failed := make(chan error, n)
	for range n {
		group.Go(func() { failed <- b.evictUntil(ctx, remover, over, m, &removed) })
	}
	t, err := m.run(ctx, func(ctx context.Context, l *lap) error {
		for l.next() {
			if err := cycle(ctx, s); err != nil {
				return err
			}
		}
		return nil
	})
	close(over)
	group.Wait()
	took := time.Duration(m.end.Load())
	close(failed)
	for e := range failed {
		err = errors.Join(err, e)
	}
	if err != nil {
		return err
	}
	if len(t.latencies) < enough {
		b.say("    not kept: the evictors were done after %d cycles; raise -eviction-rows above %d", len(t.latencies), b.evictionRows)
		return b.requireLeased(ctx)
	}
	by := report.Alone
	if n > 0 {
		by = report.Evictors
		b.Add(report.Point{What: report.Evicted, By: by, Callers: sizedCallers}, round, float64(removed.Load())/took.Seconds())
	}
	b.Add(report.Point{What: report.Foreground, By: by, Callers: sizedCallers}, round, t.rate)
	b.Add(report.Point{What: report.ForegroundP99, By: by, Callers: sizedCallers}, round, t.p99())
	b.say("    64 writers, %s: 99 %% within %s ms, %s cycles/s", by, report.Number(t.p99()), report.Number(t.rate))
	return b.requireLeased(ctx)
}

// evictUntil makes the pass of a worker's evictor, from when the writers are warm
// until they have ended, and ends their turn when there is nothing left to evict.
func (b *bench) evictUntil(ctx context.Context, s store.Store, over <-chan struct{}, m *meter, removed *atomic.Int64) error {
	select {
	case <-time.After(time.Until(m.from)):
	case <-over: // one of them has failed
	}
	e, err := store.NewEvictor(s, store.EvictorOptions{BatchSize: b.evictionBatch, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-over:
			cancel()
		case <-ctx.Done():
		}
	}()
	p := e.Pass(ctx)
	removed.Add(int64(p.Removed))
	if p.Err != nil && ctx.Err() == nil {
		return p.Err
	}
	m.finish()
	return nil
}

// requireLeased makes sure that no record with a live lease is gone.
func (b *bench) requireLeased(ctx context.Context) error {
	var left int
	err := b.server.admin.QueryRow(ctx, "SELECT count(*) FROM "+evictionSchema+".idempotency_records WHERE owner_token = ANY (ARRAY("+
		"SELECT md5(n::text)::uuid FROM generate_series(1, $1) n))", leasedRows).Scan(&left)
	if err == nil && left != leasedRows {
		err = fmt.Errorf("%d records with a live lease were evicted, want none", leasedRows-left)
	}
	return err
}

func (b *bench) deadlocks(ctx context.Context) (n int64, err error) {
	err = b.server.admin.QueryRow(ctx, "SELECT coalesce(sum(deadlocks), 0)::bigint FROM pg_stat_database").Scan(&n)
	return n, err
}
