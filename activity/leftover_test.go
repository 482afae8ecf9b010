package activity_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/telemetry"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// panicky is a store whose driver panics, or ends the goroutine.
type panicky struct {
	store.Store
	reserve, renew, settle atomic.Int32 // how many calls do
	end                    func()
}

func (p *panicky) ends(n *atomic.Int32) {
	if n.Add(-1) >= 0 {
		p.end()
	}
}

func (p *panicky) Reserve(ctx context.Context, r []store.Reservation) ([]store.Found, error) {
	p.ends(&p.reserve)
	return p.Store.Reserve(ctx, r)
}

func (p *panicky) Renew(ctx context.Context, l []store.Lease) ([]store.Renewal, error) {
	p.ends(&p.renew)
	return p.Store.Renew(ctx, l)
}

func (p *panicky) Settle(ctx context.Context, s []store.Settlement) ([]store.Settled, error) {
	p.ends(&p.settle)
	return p.Store.Settle(ctx, s)
}

func TestAStoreThatPanicsLeavesNoLeaseBehind(t *testing.T) {
	t.Parallel()
	charge := func(ctx context.Context) error {
		_, err := activity.Do(ctx, "charge", func(context.Context) (int, error) { return 1, nil })
		return err
	}
	plain := func(context.Context) error { return nil }
	for name, end := range map[string]func(){"panics": func() { panic("driver") }, "ends by Goexit": runtime.Goexit} {
		for at, c := range map[string]struct {
			body any
			when func(*panicky)
		}{
			"while it reserves":                   {plain, func(p *panicky) { p.reserve.Store(1) }},
			"while it settles":                    {plain, func(p *panicky) { p.settle.Store(1) }},
			"while it settles, and again":         {plain, func(p *panicky) { p.settle.Store(2) }},
			"while it settles an effect":          {charge, func(p *panicky) { p.settle.Store(1) }},
			"while it settles an effect and more": {charge, func(p *panicky) { p.settle.Store(4) }},
			"while an effect looks at its lease":  {charge, func(p *panicky) { p.renew.Store(1) }},
		} {
			t.Run(at+" "+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					p := &panicky{Store: unreliable(t), end: end}
					b := setup(t, withStore(p))
					c.when(p)
					ended := make(chan struct{})
					go func() { defer close(ended); _, _ = b.run(1, c.body) }()
					<-ended
					require.NoError(t, b.interceptor.Drain(t.Context()))
					require.Zero(t, b.interceptor.KeptLeases())
				})
			})
		}
	}
}

// after panics, or ends the goroutine, once a reservation has been carried out: as
// the tracer of a connection does that is told how a statement ended.
type after struct {
	store.Store
	left atomic.Int32
	end  func()
}

func (a *after) Reserve(ctx context.Context, r []store.Reservation) ([]store.Found, error) {
	found, err := a.Store.Reserve(ctx, r)
	if a.left.Add(-1) == 0 {
		a.end()
	}
	return found, err
}

func TestAStoreThatPanicsAfterItHasReservedLeavesNoRecordBehind(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(){"panics": func() { panic("tracer") }, "ends by Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &after{Store: unreliable(t), end: end}
				s.left.Store(1)
				b := setup(t, withStore(s), withPolicy(activity.Policy{Takeover: store.Refuse}))
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					_, _ = b.run(1, func(context.Context) error { panic("the body ran") })
				}()
				<-ended
				time.Sleep(time.Minute) //nolint:forbidigo // fake clock
				_, err := b.run(1, func(context.Context) error { return nil })
				require.NoError(t, err, "the body never ran before, so that it may run now")
			})
		})
	}
}

func TestARenewalThatPanicsCostsNoLease(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(){"in the driver": func() { panic("driver") }, "by Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &panicky{Store: unreliable(t), end: end}
				p.renew.Store(2)
				b := setup(t, withStore(p))
				_, err := b.run(1, func(context.Context) error {
					for range 120 {
						time.Sleep(time.Second) //nolint:forbidigo // fake clock
						require.True(t, b.leaseLive("1"))
					}
					return nil
				})
				require.NoError(t, err)
				require.Negative(t, p.renew.Load())
			})
		})
	}
}

// late is a store that is away until a settlement has gone to the background, and
// then ends its goroutine.
type late struct {
	store.Store
	end func()
}

func (l late) Settle(ctx context.Context, _ []store.Settlement) ([]store.Settled, error) {
	if span, ok := trace.SpanFromContext(ctx).(sdktrace.ReadOnlySpan); ok && span.Name() == telemetry.SpanSettle {
		l.end()
	}
	return nil, errDown
}

func TestASettlementThatPanicsInTheBackgroundEndsNothingElse(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(){"in the driver": func() { panic("driver") }, "by Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := setup(t, withStore(late{unreliable(t), end}), func(o *activity.Options) { o.TracerProvider = sdktrace.NewTracerProvider() })
				_, err := b.run(1, func(context.Context) error { return nil })
				require.NoError(t, err)
				synctest.Wait()
				require.Zero(t, b.interceptor.KeptLeases())
			})
		})
	}
}
