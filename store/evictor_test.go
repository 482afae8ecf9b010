package store_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/memstore"
)

// evictable is a store in memory whose evictions are watched, and fail while
// they are told to.
type evictable struct {
	*memstore.Store
	fail    error
	wrong   func() // what Evict does instead
	spared  int    // how many evictions do not fail
	counts  error  // of CountHeld
	records error  // of RecordPass
	slow    time.Duration
	batches []time.Duration // when each batch began, from the test's beginning
	passes  []store.Pass    // those recorded
	begun   time.Time
}

func (e *evictable) Evict(ctx context.Context, limit int) (int, error) {
	e.batches = append(e.batches, time.Since(e.begun))
	if e.wrong != nil {
		e.wrong()
	}
	if e.spared--; e.fail != nil && e.spared < 0 {
		return 0, e.fail
	}
	time.Sleep(e.slow) //nolint:forbidigo // fake clock
	return e.Store.Evict(ctx, limit)
}

func (e *evictable) CountHeld(ctx context.Context) (int64, error) {
	if e.counts != nil {
		return 0, e.counts
	}
	return e.Store.CountHeld(ctx)
}

func (e *evictable) RecordPass(ctx context.Context, p store.Pass) error {
	if e.records != nil {
		return e.records
	}
	e.passes = append(e.passes, p)
	return e.Store.RecordPass(ctx, p)
}

// newEvictable returns a store with so many records, to be evicted in an hour.
func newEvictable(t *testing.T, records int) *evictable {
	t.Helper()
	s, err := memstore.New(memstore.Options{})
	require.NoError(t, err)
	e := &evictable{Store: s, begun: time.Now()}
	for i := range records {
		_, err := s.Reserve(t.Context(), []store.Reservation{{
			Key: fmt.Sprint("k", i), Hashes: []string{"v1::aa"}, Token: store.NewToken(),
			Lease: time.Minute, Retention: time.Hour, Policy: store.Reexecute,
		}})
		require.NoError(t, err)
	}
	return e
}

func evictor(t *testing.T, s store.Store, o store.EvictorOptions) *store.Evictor {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	e, err := store.NewEvictor(s, o)
	require.NoError(t, err)
	return e
}

func TestEvictor(t *testing.T) {
	t.Parallel()

	t.Run("makes a pass every minute, jittered, and removes what is over", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := newEvictable(t, 5)
			var removed []int
			ctx, stop := context.WithTimeout(t.Context(), 2*time.Hour)
			defer stop()
			evictor(t, s, store.EvictorOptions{OnPass: func(p store.Pass) { removed = append(removed, p.Removed) }}).Run(ctx)
			require.InDelta(t, 120, len(removed), 6)
			total := 0
			for _, n := range removed {
				total += n
			}
			require.Equal(t, 5, total)
			pauses := map[time.Duration]bool{}
			for i := 1; i < len(s.batches); i++ {
				d := s.batches[i] - s.batches[i-1]
				require.InDelta(t, time.Minute, d, float64(15*time.Second))
				pauses[d] = true
			}
			require.Greater(t, len(pauses), 50, "two evictors must not keep in step")
		})
	})

	t.Run("workers that start together do not come together", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			firsts := map[time.Duration]bool{}
			for range 20 {
				s := newEvictable(t, 0)
				ctx, stop := context.WithCancel(t.Context())
				evictor(t, s, store.EvictorOptions{OnPass: func(store.Pass) { stop() }}).Run(ctx)
				require.Len(t, s.batches, 1)
				require.Less(t, s.batches[0], time.Minute)
				firsts[s.batches[0].Round(time.Second)] = true
			}
			require.Greater(t, len(firsts), 5)
		})
	})

	t.Run("backs off from a busy database, and comes back", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := newEvictable(t, 0)
			s.fail = fmt.Errorf("%w: too many connections", store.ErrUnavailable)
			ctx, stop := context.WithTimeout(t.Context(), 3*time.Hour)
			defer stop()
			e := evictor(t, s, store.EvictorOptions{OnPass: func(store.Pass) {
				if len(s.batches) == 12 {
					s.fail = nil
				}
			}})
			e.Run(ctx)
			for i, want := range []time.Duration{2, 4, 8, 16, 16, 16} {
				require.InDelta(t, want*time.Minute, s.batches[i+1]-s.batches[i], float64(want*time.Minute/4), i)
			}
			require.InDelta(t, time.Minute, s.batches[len(s.batches)-1]-s.batches[len(s.batches)-2], float64(15*time.Second))
			require.NotEmpty(t, s.passes)
		})
	})

	t.Run("removes everything in batches, and rests nineteen times as long as each took", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := newEvictable(t, 25)
			time.Sleep(2 * time.Hour) //nolint:forbidigo // fake clock
			s.begun, s.slow = time.Now(), 20*time.Millisecond
			p := evictor(t, s, store.EvictorOptions{BatchSize: 10}).Pass(t.Context())
			require.NoError(t, p.Err)
			require.Equal(t, 25, p.Removed)
			require.Equal(t, 3, p.Batches)
			require.False(t, p.More)
			require.Zero(t, p.Held)
			require.Equal(t, 820*time.Millisecond, p.Duration)
			require.Equal(t, []time.Duration{0, 400 * time.Millisecond, 800 * time.Millisecond}, s.batches)
			require.Equal(t, []store.Pass{p}, s.passes)
		})
	})

	for name, c := range map[string]struct {
		rest int
		slow time.Duration
		want time.Duration
	}{
		"rests for a second at most":        {0, 500 * time.Millisecond, 1500 * time.Millisecond},
		"rests as long as it is told to":    {1, 500 * time.Millisecond, time.Second},
		"does not rest where it is told so": {-1, 500 * time.Millisecond, 500 * time.Millisecond},
		"does not rest for any negative":    {-1 << 40, 500 * time.Millisecond, 500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newEvictable(t, 15)
				time.Sleep(2 * time.Hour) //nolint:forbidigo // fake clock
				s.begun, s.slow = time.Now(), c.slow
				evictor(t, s, store.EvictorOptions{BatchSize: 10, Rest: c.rest}).Pass(t.Context())
				require.Equal(t, []time.Duration{0, c.want}, s.batches)
			})
		})
	}

	t.Run("ends a pass after so many batches, and says that there may be more", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := newEvictable(t, 25)
			time.Sleep(2 * time.Hour) //nolint:forbidigo // fake clock
			p := evictor(t, s, store.EvictorOptions{BatchSize: 10, MaxBatches: 2}).Pass(t.Context())
			require.Equal(t, 20, p.Removed)
			require.True(t, p.More)
		})
	})

	t.Run("does not record a pass that failed", func(t *testing.T) {
		t.Parallel()
		s := newEvictable(t, 0)
		s.fail = store.ErrUnavailable
		p := evictor(t, s, store.EvictorOptions{}).Pass(t.Context())
		require.ErrorIs(t, p.Err, store.ErrUnavailable)
		require.EqualValues(t, store.HeldUnknown, p.Held)
		require.Empty(t, s.passes)
	})

	for name, c := range map[string]struct {
		wrong func()
		want  string
	}{
		"takes a panic of the store for a failed pass, and comes back": {func() { panic(errors.New("4111")) }, "dedupe: the store panicked with a *errors.errorString"},
		"takes runtime.Goexit for one too":                             {runtime.Goexit, "dedupe: the store did not return from an eviction"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newEvictable(t, 5)
				s.wrong = c.wrong
				ctx, stop := context.WithTimeout(t.Context(), 3*time.Hour)
				defer stop()
				var failed []string
				evictor(t, s, store.EvictorOptions{OnPass: func(p store.Pass) {
					if p.Err != nil {
						failed = append(failed, p.Err.Error())
					}
					if len(failed) == 3 {
						s.wrong = nil
					}
				}}).Run(ctx)
				require.Equal(t, []string{c.want, c.want, c.want}, failed)
				require.InDelta(t, 2*time.Minute, s.batches[1]-s.batches[0], float64(time.Minute/2))
				removed := 0
				for _, p := range s.passes {
					removed += p.Removed
				}
				require.Equal(t, 5, removed)
			})
		})
	}

	for name, end := range map[string]func(){"a panic": func() { panic("disk full") }, "runtime.Goexit": runtime.Goexit} {
		t.Run("survives "+name+" of its logger and of who is told of a pass", func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newEvictable(t, 5)
				ctx, stop := context.WithTimeout(t.Context(), time.Hour)
				defer stop()
				told := 0
				evictor(t, s, store.EvictorOptions{Logger: slog.New(ending{end}), OnPass: func(store.Pass) {
					told++
					end()
				}}).Run(ctx)
				require.Greater(t, told, 40)
				require.Len(t, s.passes, told)
			})
		})
	}

	t.Run("fails where it leaves no trace, but has removed what it has", func(t *testing.T) {
		t.Parallel()
		for _, change := range []func(*evictable){
			func(e *evictable) { e.counts = store.ErrUnavailable },
			func(e *evictable) { e.records = store.ErrUnavailable },
		} {
			synctest.Test(t, func(t *testing.T) {
				s := newEvictable(t, 5)
				change(s)
				time.Sleep(2 * time.Hour) //nolint:forbidigo // fake clock
				p := evictor(t, s, store.EvictorOptions{}).Pass(t.Context())
				require.ErrorIs(t, p.Err, store.ErrUnavailable)
				require.Equal(t, 5, p.Removed)
				require.Empty(t, s.passes)
			})
		}
	})

	t.Run("tells what it removed before it failed, or was stopped", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := newEvictable(t, 25)
			s.fail, s.spared = store.ErrUnavailable, 1
			time.Sleep(2 * time.Hour) //nolint:forbidigo // fake clock
			p := evictor(t, s, store.EvictorOptions{BatchSize: 10}).Pass(t.Context())
			require.ErrorIs(t, p.Err, store.ErrUnavailable)
			require.Equal(t, 10, p.Removed)
			require.Equal(t, 1, p.Batches)

			s.fail, s.slow = nil, 500*time.Millisecond
			ctx, stop := context.WithTimeout(t.Context(), time.Second)
			defer stop()
			var out bytes.Buffer
			p = evictor(t, s, store.EvictorOptions{
				BatchSize: 10, Logger: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})),
			}).Pass(ctx)
			require.ErrorIs(t, p.Err, context.DeadlineExceeded)
			require.Equal(t, 10, p.Removed)
			require.True(t, p.More)
			require.Contains(t, out.String(), "level=DEBUG")
			require.Contains(t, out.String(), "eviction was stopped")

			// In a batch, and not between two.
			s.slow = 2 * time.Second
			ctx, stop = context.WithTimeout(t.Context(), time.Second)
			defer stop()
			p = evictor(t, s, store.EvictorOptions{BatchSize: 10}).Pass(ctx)
			require.ErrorIs(t, p.Err, context.DeadlineExceeded)
			require.Zero(t, p.Batches)
			require.True(t, p.More)
		})
	})

	t.Run("ends with its store", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := newEvictable(t, 0)
			s.Close()
			evictor(t, s, store.EvictorOptions{}).Run(t.Context())
			require.Len(t, s.batches, 1)
		})
	})

	t.Run("shares the work with others", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := newEvictable(t, 500)
			ctx, stop := context.WithTimeout(t.Context(), 90*time.Minute)
			defer stop()
			var removed atomic.Int64
			done := make(chan struct{})
			for range 4 {
				e := evictor(t, s.Store, store.EvictorOptions{BatchSize: 7, OnPass: func(p store.Pass) { removed.Add(int64(p.Removed)) }})
				go func() { e.Run(ctx); done <- struct{}{} }()
			}
			for range 4 {
				<-done
			}
			require.EqualValues(t, 500, removed.Load())
		})
	})

	t.Run("works on a store that keeps no trace", func(t *testing.T) {
		t.Parallel()
		s := struct{ store.Store }{newEvictable(t, 0)}
		p := evictor(t, s, store.EvictorOptions{}).Pass(t.Context())
		require.NoError(t, p.Err)
		require.EqualValues(t, store.HeldUnknown, p.Held)
	})
}

func TestEvictorLogsOneEventForEachPass(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		records     int
		fail        error
		level, text string
		want        map[string]any
	}{
		"that removed records": {3, nil, "INFO", "dedupe: evicted records", map[string]any{"Removed": 3., "Batches": 2., "Held": 0., "More": false}},
		"that found nothing":   {0, nil, "DEBUG", "dedupe: there was nothing to evict", map[string]any{"Removed": 0., "Batches": 1.}},
		"that failed": {0, errors.New("dedupe: store is unavailable"), "WARN", "dedupe: eviction failed, trying again later",
			map[string]any{"Error": "dedupe: store is unavailable"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newEvictable(t, c.records)
				s.fail = c.fail
				time.Sleep(2 * time.Hour) //nolint:forbidigo // fake clock
				var out bytes.Buffer
				p := evictor(t, s, store.EvictorOptions{
					BatchSize: 2, Logger: slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})),
				}).Pass(t.Context())
				var event map[string]any
				require.NoError(t, json.Unmarshal(out.Bytes(), &event), "one event: %s", out.String())
				require.Equal(t, c.level, event["level"])
				require.Equal(t, c.text, event["msg"])
				require.Equal(t, p.ID, event["CorrelationID"])
				require.Len(t, p.ID, 13)
				for field, value := range c.want {
					require.Equal(t, value, event[field], field)
				}
			})
		})
	}
}

func TestEvictorOptionsAreChecked(t *testing.T) {
	t.Parallel()
	s := newEvictable(t, 0)
	for want, o := range map[string]store.EvictorOptions{
		"EvictorOptions.Interval is 5ms, want 1s to 720h0m0s, or 0 for 1m0s": {Interval: 5 * time.Millisecond},
		"EvictorOptions.Interval is 720h0m1s":                                {Interval: 30*24*time.Hour + time.Second},
		"EvictorOptions.Interval is -1s":                                     {Interval: -time.Second},
		"EvictorOptions.BatchSize is negative: -1":                           {BatchSize: -1},
		"EvictorOptions.MaxBatches is negative: -1":                          {MaxBatches: -1},
		"EvictorOptions.Rest is 1001, want at most 1000":                     {Rest: 1001},
	} {
		_, err := store.NewEvictor(s, o)
		require.ErrorContains(t, err, want)
	}
	_, err := store.NewEvictor(nil, store.EvictorOptions{})
	require.ErrorContains(t, err, "the store is nil")
}

// ending is a handler of logs that ends who calls it.
type ending struct{ end func() }

func (ending) Enabled(context.Context, slog.Level) bool    { return true }
func (e ending) Handle(context.Context, slog.Record) error { e.end(); return nil }
func (e ending) WithAttrs([]slog.Attr) slog.Handler        { return e }
func (e ending) WithGroup(string) slog.Handler             { return e }
