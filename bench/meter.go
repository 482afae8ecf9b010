package main

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/bench/internal/report"
)

// meter counts what a number of callers do, each one thing after the other. A
// quarter of a turn more comes before it and is not counted: connections open,
// statements are prepared.
type meter struct {
	from time.Time
	end  atomic.Int64 // nanoseconds after from
	laps []*lap
}

// lap is one caller's part of a meter.
type lap struct {
	m         *meter
	begun     time.Time
	total     int
	latencies []time.Duration
}

// tally is what came of a turn.
type tally struct {
	// rate is for a second, total counts the warm-up too.
	rate  float64
	total int
	// latencies are sorted.
	latencies []time.Duration
}

// p99 is the 99th percentile in milliseconds.
func (t tally) p99() float64 {
	return float64(report.Percentile(t.latencies, 0.99).Microseconds()) / 1000
}

func newMeter(callers int, d time.Duration) *meter {
	m := &meter{from: time.Now().Add(d / 4)}
	m.end.Store(int64(d))
	for range callers {
		m.laps = append(m.laps, &lap{m: m})
	}
	return m
}

// next ends one thing and tells whether there is time for another.
func (l *lap) next() bool {
	now := time.Now()
	since := now.Sub(l.m.from)
	over := int64(since) >= l.m.end.Load()
	if !l.begun.IsZero() {
		l.total++
		if since >= 0 && !over {
			l.latencies = append(l.latencies, now.Sub(l.begun))
		}
	}
	l.begun = now
	return !over
}

// finish ends the turn early.
func (m *meter) finish() { m.end.Store(min(m.end.Load(), int64(max(time.Since(m.from), 0)))) }

// run runs all callers until the turn is over or one of them fails.
func (m *meter) run(ctx context.Context, call func(ctx context.Context, l *lap) error) (tally, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var callers sync.WaitGroup
	for _, l := range m.laps {
		callers.Go(func() {
			if err := call(ctx, l); err != nil {
				cancel(err)
			}
		})
	}
	callers.Wait()
	if ctx.Err() != nil {
		return tally{}, context.Cause(ctx)
	}
	var t tally
	for _, l := range m.laps {
		t.total += l.total
		t.latencies = append(t.latencies, l.latencies...)
	}
	slices.Sort(t.latencies)
	t.rate = float64(len(t.latencies)) / time.Duration(m.end.Load()).Seconds()
	return t, nil
}
