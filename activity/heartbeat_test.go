package activity_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// pulse is what an attempt has of heartbeats, as an interceptor that a user may
// have: a timeout, the details that an earlier attempt left, and those it sends.
type pulse struct {
	interceptor.WorkerInterceptorBase
	attempts int32
	details  []any
	data     converter.DataConverter
	wrong    func() // what happens instead of the first heartbeat
	reading  func() // and instead of reading the details first
	sent     [][]any
}

// In these tests the heartbeat timeout is 9 s, so that a beat is due every 3 s.
const pulseTimeout = 9 * time.Second

func (p *pulse) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	i := &pulseInbound{pulse: p}
	i.Next = next
	return i
}

type pulseInbound struct {
	interceptor.ActivityInboundInterceptorBase
	*pulse
}

func (i *pulseInbound) Init(next interceptor.ActivityOutboundInterceptor) error {
	o := &pulseOutbound{pulse: i.pulse}
	o.Next = next
	return i.Next.Init(o)
}

type pulseOutbound struct {
	interceptor.ActivityOutboundInterceptorBase
	*pulse
}

func (o *pulseOutbound) GetInfo(ctx context.Context) sdkactivity.Info {
	info := o.Next.GetInfo(ctx)
	info.HeartbeatTimeout = pulseTimeout
	info.RetryPolicy = &temporal.RetryPolicy{MaximumAttempts: o.attempts}
	return info
}

func (o *pulseOutbound) HasHeartbeatDetails(context.Context) bool { return len(o.details) > 0 }

func (o *pulseOutbound) GetHeartbeatDetails(_ context.Context, into ...any) error {
	once(&o.reading)
	encoded, err := converter.GetDefaultDataConverter().ToPayloads(o.details...)
	if err != nil {
		return err
	}
	return o.data.FromPayloads(encoded, into...)
}

func (o *pulseOutbound) RecordHeartbeat(_ context.Context, details ...any) {
	once(&o.wrong)
	o.sent = append(o.sent, details)
}

func once(f *func()) {
	if do := *f; do != nil {
		*f = nil
		do()
	}
}

// typed is a data converter written by hand, which does not know raw values.
type typed struct{ converter.DataConverter }

func (c typed) FromPayloads(p *commonpb.Payloads, into ...any) error {
	for _, v := range into {
		if _, raw := v.(*converter.RawValue); raw {
			return errors.New("4111 is of no known type")
		}
	}
	return c.DataConverter.FromPayloads(p, into...)
}

// waited is how an execution that had to wait has ended.
type waited struct {
	got   string
	err   error
	took  time.Duration
	lines []string // logged about heartbeats
}

// wait runs call 1 with the pulse while another execution owns it for 7 s.
func (p *pulse) wait(t *testing.T) (w waited) {
	t.Helper()
	tape := newTape(t)
	b := setup(t, tape.providers())
	b.log = tape
	finish, finished := occupied(t, b), make(chan struct{})
	time.AfterFunc(7*time.Second, func() { finish(); close(finished) })
	if p.data == nil {
		p.data = converter.GetDefaultDataConverter()
	}
	env := b.env(1)
	o := workerOptions(b, context.Background())
	o.Interceptors = append(o.Interceptors, p)
	env.SetWorkerOptions(o)
	begun := time.Now()
	v, err := runIn(env, (&ends{}).body)
	w.took = time.Since(begun)
	if err == nil {
		err = v.Get(&w.got)
	}
	w.err = err
	<-finished
	lines, _ := tape.logged()
	for _, line := range lines {
		require.NotContains(t, line, "4111")
		if strings.Contains(line, "heartbeat skipped") {
			require.Contains(t, line, "*errors.errorString")
			w.lines = append(w.lines, line)
		}
	}
	return w
}

func TestHeartbeatsWhileWaiting(t *testing.T) {
	t.Parallel()

	t.Run("send the previous details again, however many", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			p := &pulse{}
			for n := range 100 {
				p.details = append(p.details, n)
			}
			w := p.wait(t)
			require.NoError(t, w.err)
			require.Equal(t, "first", w.got)
			require.Len(t, p.sent, 2)
			want, err := converter.GetDefaultDataConverter().ToPayloads(p.details...)
			require.NoError(t, err)
			for _, details := range p.sent {
				sent, err := converter.GetDefaultDataConverter().ToPayloads(details...)
				require.NoError(t, err)
				require.True(t, proto.Equal(want, sent))
			}
		})
	})

	for name, c := range map[string]struct {
		p      *pulse
		logged int
	}{
		"skip one that panics, as where the SDK cannot encode it": {&pulse{wrong: func() { panic(errors.New("4111")) }}, 1},
		"skip one whose details cannot be decoded, by a panic":    {&pulse{reading: func() { panic(errors.New("4111")) }}, 1},
		"skip one that ends its goroutine":                        {&pulse{wrong: runtime.Goexit}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c.p.details = []any{"4111"}
				w := c.p.wait(t)
				require.NoError(t, w.err)
				require.Equal(t, "first", w.got)
				require.Len(t, c.p.sent, 1, "the next one comes in time")
				require.Len(t, w.lines, c.logged)
			})
		})
	}

	t.Run("are not sent without the details; the call comes back before it is taken for dead", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			p := &pulse{details: []any{"4111"}, data: typed{converter.GetDefaultDataConverter()}}
			w := p.wait(t)
			requireErrType(t, w.err, activity.ErrTypeInFlight)
			require.Empty(t, p.sent)
			require.InDelta(t, pulseTimeout*3/4, w.took, float64(100*time.Millisecond))
			require.Len(t, w.lines, 1)
		})
	})

	t.Run("are not sent without the details on the last attempt either, which waits on", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			p := &pulse{details: []any{7}, data: typed{converter.GetDefaultDataConverter()}, attempts: 1}
			w := p.wait(t)
			require.NoError(t, w.err)
			require.Equal(t, "first", w.got)
			require.Empty(t, p.sent)
		})
	})
}

// after runs call 1 with the pulse after an owner that fails after a time.
func (p *pulse) after(ctx context.Context, b *bundle, d time.Duration, body any) error {
	p.attempts = 1
	owned, failed := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(failed)
		_, _ = b.run(1, func(context.Context) error { close(owned); time.Sleep(d); return errDeclined }) //nolint:forbidigo // fake clock
	}()
	<-owned
	env := b.env(1)
	o := workerOptions(b, ctx)
	o.Interceptors = append(o.Interceptors, p)
	env.SetWorkerOptions(o)
	_, err := runIn(env, body)
	<-failed
	return err
}

// slowly is after an owner that fails while a heartbeat is on its way. That takes
// 20 s, more than two leases, and something happens in the middle.
func (p *pulse) slowly(ctx context.Context, b *bundle, middle func(), body any) (took time.Duration, err error) {
	sent := make(chan struct{})
	p.wrong = func() {
		defer close(sent)
		time.Sleep(10 * time.Second) //nolint:forbidigo // fake clock
		middle()
		time.Sleep(10 * time.Second) //nolint:forbidigo // fake clock
	}
	begun := time.Now()
	err = p.after(ctx, b, 4*time.Second, body)
	took = time.Since(begun)
	<-sent
	return took, err
}

func TestAHeartbeatThatTakesLong(t *testing.T) {
	t.Parallel()
	neverRuns := func(context.Context) error { panic("the body ran") }

	t.Run("costs no lease that begins meanwhile, and comes before those of the body", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b, p, acquisitions := setup(t), &pulse{}, 0
			_, err := p.slowly(t.Context(), b, func() { acquisitions = b.record("1").Acquisitions }, func(context.Context) error {
				require.Len(t, p.sent, 1)
				require.True(t, b.leaseLive("1"))
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, 2, acquisitions, "the waiting goes on")
			require.Len(t, p.sent, 1, "the last one before the body")
		})
	})

	t.Run("lets a cancellation through, and the body does not start", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b, p := setup(t), &pulse{}
			ctx, cancel := context.WithCancel(t.Context())
			took, err := p.slowly(ctx, b, cancel, neverRuns)
			require.ErrorContains(t, err, "canceled")
			require.Less(t, took, 15*time.Second)
			require.False(t, b.leaseLive("1"))
			require.Zero(t, b.interceptor.KeptLeases())
		})
	})

	t.Run("lets an execution hear that another one has its record, and the body does not start", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b, p := setup(t), &pulse{}
			_, err := p.slowly(t.Context(), b, func() {
				heir := b.takeOver()
				_, err := b.store.Settle(t.Context(), []store.Settlement{{Key: heir.Key, Token: heir.Token, Outcome: store.OutcomeComplete, Result: []byte{}}})
				require.NoError(t, err)
			}, neverRuns)
			require.NoError(t, err, "the heir's result is the answer")
			require.Equal(t, map[string]int64{"failed": 1, "superseded": 1}, b.outcomes())
			require.Zero(t, b.interceptor.KeptLeases())
		})
	})
}
