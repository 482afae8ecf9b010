package worker_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdkworker "go.temporal.io/sdk/worker"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/worker"
)

// passes counts the passes over a store.
type passes struct {
	store.Store
	made atomic.Int64
}

func (p *passes) n() int { return int(p.made.Load()) }

func (p *passes) Evict(ctx context.Context, limit int) (int, error) {
	p.made.Add(1)
	return p.Store.Evict(ctx, limit)
}

// hanging is a store whose evictions do not heed their context.
type hanging struct {
	store.Store
	gate chan struct{}
}

func (h *hanging) Evict(context.Context, int) (int, error) {
	<-h.gate
	return 0, nil
}

// stop stops the worker that was configured as the n-th of a rig.
func (r *rig) stop(n int) {
	r.plugin.StopWorker(context.Background(), sdkworker.PluginStopWorkerOptions{WorkerInstanceKey: string(rune('a' + n))},
		func(context.Context, sdkworker.PluginStopWorkerOptions) {})
}

func TestTheWorkerEvicts(t *testing.T) {
	t.Parallel()
	charge := map[string]activity.Policy{"Charge": {}}

	t.Run("every minute from the first worker's start to the last one's stop, once for all of them", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			o := options(t, charge)
			p := &passes{Store: o.Store}
			reader := metric.NewManualReader()
			o.Store, o.MeterProvider = p, metric.NewMeterProvider(metric.WithReader(reader))
			r := newRig(t, o)
			first, second := r.worker(&sdkworker.Options{}, "Charge"), r.worker(&sdkworker.Options{}, "Charge")
			time.Sleep(time.Hour) //nolint:forbidigo // fake clock
			require.Zero(t, p.n(), "no worker runs yet")
			require.NoError(t, first())
			require.NoError(t, second())
			time.Sleep(time.Hour) //nolint:forbidigo // fake clock
			require.InDelta(t, 60, p.n(), 5)
			r.stop(1)
			time.Sleep(time.Hour) //nolint:forbidigo // fake clock
			require.InDelta(t, 120, p.n(), 8)
			r.stop(2)
			n := p.n()
			time.Sleep(time.Hour) //nolint:forbidigo // fake clock
			require.Equal(t, n, p.n())
			require.EqualValues(t, n, counted(t, reader, "dedupe.eviction.pass"))
		})
	})

	t.Run("as often as the options say, or not at all", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			for interval, want := range map[time.Duration]float64{time.Hour: 24, -1: 0} {
				o := options(t, charge)
				p := &passes{Store: o.Store}
				o.Store, o.EvictionInterval = p, interval
				r := newRig(t, o)
				require.NoError(t, r.worker(&sdkworker.Options{}, "Charge")())
				time.Sleep(24 * time.Hour) //nolint:forbidigo // fake clock
				require.InDelta(t, want, p.n(), want/8)
				r.stop(1)
			}
		})
	})

	t.Run("not for a worker that could not start", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			o := options(t, charge)
			p := &passes{Store: o.Store}
			o.Store = p
			r := newRig(t, o)
			r.worker(&sdkworker.Options{}, "Charge")
			err := r.plugin.StartWorker(t.Context(), sdkworker.PluginStartWorkerOptions{WorkerInstanceKey: "b"},
				func(context.Context, sdkworker.PluginStartWorkerOptions) error {
					return errors.New("no such namespace")
				})
			require.Error(t, err)
			time.Sleep(time.Hour) //nolint:forbidigo // fake clock
			require.Zero(t, p.n())
			r.stop(1)
		})
	})

	t.Run("and stops although a pass hangs", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			o := options(t, charge)
			h := &hanging{Store: o.Store, gate: make(chan struct{})}
			o.Store = h
			r := newRig(t, o)
			require.NoError(t, r.worker(&sdkworker.Options{}, "Charge")())
			time.Sleep(time.Hour) //nolint:forbidigo // fake clock
			begun := time.Now()
			r.stop(1)
			require.LessOrEqual(t, time.Since(begun), 10*time.Second)
			close(h.gate)
		})
	})

	t.Run("by hand, until the context is done", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			o := options(t, charge)
			p := &passes{Store: o.Store}
			o.Store = p
			i, err := worker.NewInterceptor(o)
			require.NoError(t, err)
			ctx, stop := context.WithTimeout(t.Context(), time.Hour)
			defer stop()
			i.Evict(ctx)
			require.InDelta(t, 60, p.n(), 5)

			o.EvictionInterval = -1
			i, err = worker.NewInterceptor(o)
			require.NoError(t, err)
			i.Evict(t.Context())
		})
	})

	t.Run("an interval that would leave the database no rest is refused", func(t *testing.T) {
		t.Parallel()
		o := options(t, charge)
		o.EvictionInterval = time.Millisecond
		_, err := worker.NewPlugin(o)
		require.ErrorContains(t, err, "Options.EvictionInterval is 1ms, want 1s to 720h0m0s")
	})
}

func counted(t *testing.T, reader *metric.ManualReader, name string) (n int64) {
	t.Helper()
	var rm metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(context.Background(), &rm))
	for _, scope := range rm.ScopeMetrics {
		for _, m := range scope.Metrics {
			if sum, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == name {
				for _, p := range sum.DataPoints {
					n += p.Value
				}
			}
		}
	}
	return n
}
