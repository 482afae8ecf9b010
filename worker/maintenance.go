package worker

import (
	"context"
	"fmt"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/telemetry"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// newEvictor returns the evictor that the options ask for, or nil.
func newEvictor(o activity.Options) (*store.Evictor, error) {
	if o.EvictionInterval < 0 {
		return nil, nil
	}
	t, err := telemetry.New(o.TracerProvider, o.MeterProvider)
	if err != nil {
		return nil, fmt.Errorf("dedupe: telemetry: %w", err)
	}
	t.BeginEvicting()
	return store.NewEvictor(t.Store(o.Store), store.EvictorOptions{
		Interval: o.EvictionInterval, Logger: o.Logger, OnPass: t.Evicted,
	})
}

// maintenance is an evictor at work: one for each plugin, however many workers
// share it.
type maintenance struct {
	cancel context.CancelFunc
	ended  chan struct{}
}

// maintain makes sure that the evictor is at work while the worker runs.
func (p *Plugin) maintain(r *registered) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r.running = true
	if p.maintenance != nil || p.evictor == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	m := &maintenance{cancel: cancel, ended: make(chan struct{})}
	p.maintenance = m
	go func() {
		defer close(m.ended)
		p.evictor.Run(ctx)
	}()
}

// unneeded returns the maintenance if no worker runs any more, for the caller to
// stop outside of the lock, which it must hold.
func (p *Plugin) unneeded() *maintenance {
	for _, r := range p.workers {
		if r.running {
			return nil
		}
	}
	m := p.maintenance
	p.maintenance = nil
	return m
}

// stopTimeout bounds the wait for a pass under way: a store whose statement was cancelled
// has answered long before, and what hangs is a store or a logger of somebody's own.
const stopTimeout = 10 * time.Second

// stop waits for a pass under way, whose statement is cancelled.
func (m *maintenance) stop() {
	if m == nil {
		return
	}
	m.cancel()
	select {
	case <-m.ended:
	case <-time.After(stopTimeout):
	}
}
