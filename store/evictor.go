package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"
)

// Evictor removes the records whose retention is over, in passes. Any number of
// them may work on one store: they share the work, and none waits for another.
type Evictor struct {
	store   Store
	options EvictorOptions
}

// NewEvictor returns an evictor, which does nothing before [Evictor.Run] or
// [Evictor.Pass] is called. Its error names the option that is wrong.
func NewEvictor(s Store, o EvictorOptions) (*Evictor, error) {
	if s == nil {
		return nil, errors.New("dedupe: NewEvictor: the store is nil")
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	return &Evictor{store: s, options: o.withDefaults()}, nil
}

// Run makes a pass every interval, with jitter, until ctx is done or the store
// is closed. The first one comes after a random part of the interval: workers
// that a deployment starts together must not come together. After a pass that
// failed the next one comes later, and later each time, for the database that
// refused it has more urgent work.
func (e *Evictor) Run(ctx context.Context) {
	delay := rand.N(e.options.Interval)
	for failed := 0; pause(ctx, delay); {
		switch p := e.Pass(ctx); {
		case errors.Is(p.Err, ErrClosed):
			return
		case p.Err != nil:
			failed++
		default:
			failed = 0
		}
		delay = spread(e.options.Interval << min(failed, maxBackOff))
	}
}

// maxBackOff makes the longest pause between two passes 16 intervals.
const maxBackOff = 4

// spread varies a delay by up to a quarter in either direction.
func spread(d time.Duration) time.Duration { return d*3/4 + rand.N(d/2+1) }

// Pass removes records in batches until fewer than a batch are left to remove,
// each batch in a transaction of its own. The first error ends it, and so does a
// panic of the store: what failed for a busy database is for the next pass. A
// store that is [Maintained] is told of a pass that succeeded. One event is
// logged, with the pass's ID, at level debug where nothing was removed, and at
// warn where it failed.
func (e *Evictor) Pass(ctx context.Context) Pass {
	p := Pass{ID: NewToken().String()[:13], Held: HeldUnknown}
	begun := time.Now()
	err := survive(func() error { return e.batches(ctx, &p) })
	p.Duration = time.Since(begun)
	if m, ok := As[Maintained](e.store); ok && err == nil {
		err = survive(func() error { return e.note(ctx, m, &p) })
	}
	p.Err = err
	e.report(ctx, p)
	return p
}

func (e *Evictor) batches(ctx context.Context, p *Pass) error {
	for {
		begun := time.Now()
		n, err := e.store.Evict(ctx, e.options.BatchSize)
		p.Removed += n
		if err != nil {
			p.More = ctx.Err() != nil // what the batch would have removed
			return err
		}
		p.Batches++
		switch {
		case n < e.options.BatchSize:
			return nil
		case p.Batches == e.options.MaxBatches:
			p.More = true
			return nil
		case !pause(ctx, min(min(time.Since(begun), maxPause)*time.Duration(max(e.options.Rest, 0)), maxPause)):
			p.More = true
			return ctx.Err()
		}
	}
}

// note leaves the trace of a pass with the store.
func (e *Evictor) note(ctx context.Context, m Maintained, p *Pass) error {
	held, err := m.CountHeld(ctx)
	if err != nil {
		return err
	}
	p.Held = held
	return m.RecordPass(ctx, *p)
}

// survive calls code of others where a panic would end the process, and
// runtime.Goexit the eviction: that one ends the goroutine it is called on,
// which is why the call has one to itself.
func survive(call func() error) error {
	done := make(chan error, 1)
	go func() {
		err := errors.New("dedupe: the store did not return from an eviction")
		defer func() {
			if value := recover(); value != nil {
				err = fmt.Errorf("dedupe: the store panicked with a %T", value)
			}
			done <- err
		}()
		err = call()
	}()
	return <-done
}

// maxPause bounds the pause between two batches.
const maxPause = time.Second

// report logs the pass and hands it on. What is wrong with a logger or a meter must not
// end the worker.
func (e *Evictor) report(ctx context.Context, p Pass) {
	level, message := slog.LevelInfo, "dedupe: evicted records"
	switch {
	case p.Err != nil && ctx.Err() != nil, errors.Is(p.Err, ErrClosed):
		level, message = slog.LevelDebug, "dedupe: eviction was stopped"
	case p.Err != nil:
		level, message = slog.LevelWarn, "dedupe: eviction failed, trying again later"
	case p.Removed == 0:
		level, message = slog.LevelDebug, "dedupe: there was nothing to evict"
	}
	_ = survive(func() error { e.options.Logger.LogAttrs(ctx, level, message, p.attrs()...); return nil })
	if e.options.OnPass != nil {
		_ = survive(func() error { e.options.OnPass(p); return nil })
	}
}

// pause waits and tells whether it waited to the end.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
