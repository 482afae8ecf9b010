package activity_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	sdkworker "go.temporal.io/sdk/worker"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/wire"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/memstore"
)

// BenchmarkExecution measures what an execution pays for its interceptor: a
// memory store, a body that does nothing, and arguments that cost nothing.
func BenchmarkExecution(b *testing.B) {
	for name, calls := range map[string]int{"FirstRun": 10_000, "Replay": 1} {
		b.Run(name, func(b *testing.B) {
			executions(b, calls, func(execute func(n int), forget func()) {
				b.ReportAllocs()
				n := 0
				for b.Loop() {
					if n == calls {
						n = 0
						if calls > 1 { // the same calls again, and they must be new
							b.StopTimer()
							forget()
							b.StartTimer()
						}
					}
					execute(n)
					n++
				}
			})
		})
	}
}

// TestAnExecutionKeepsToItsBudget counts what BenchmarkExecution does. The store's
// own allocations are among them: three for a new call.
func TestAnExecutionKeepsToItsBudget(t *testing.T) {
	const runs = 1000
	for name, budget := range map[string]struct {
		calls       int
		allocations float64
	}{
		"FirstRun": {runs + 1, 34}, // and one before they are counted
		"Replay":   {1, 32},
	} {
		t.Run(name, func(t *testing.T) {
			executions(t, budget.calls, func(execute func(n int), _ func()) {
				n := 0
				require.LessOrEqual(t, testing.AllocsPerRun(runs, func() {
					execute(n % budget.calls)
					n++
				}), budget.allocations)
			})
		})
	}
}

// executions calls f with a function that executes the n-th of so many calls, and
// one that makes all of them new.
func executions(tb testing.TB, calls int, f func(execute func(n int), forget func())) {
	tb.Helper()
	form := []byte("constant")
	constant := activity.Policy{Fingerprint: func([]any) ([]byte, error) { return form, nil }}
	records := &swapped{}
	records.empty(tb)
	i, err := activity.NewInterceptor(activity.Options{
		Store: records, Logger: slog.New(slog.DiscardHandler),
		Policies: map[string]activity.Policy{activity.AnyActivity: constant},
	})
	require.NoError(tb, err)
	headers := make([]*commonpb.Payload, calls)
	for n := range headers {
		headers[n] = wire.Encode(call(n + 1))
	}
	inActivity(tb, func(ctx context.Context) {
		in := i.InterceptActivity(ctx, &nothing{})
		header, input := interceptor.Header(ctx), &interceptor.ExecuteActivityInput{}
		f(func(n int) {
			header[wire.HeaderKey] = headers[n]
			if _, err := in.ExecuteActivity(ctx, input); err != nil {
				tb.Fatal(err)
			}
		}, func() { records.empty(tb) })
	})
}

// BenchmarkFingerprint measures the fingerprint of one argument of ten fields.
func BenchmarkFingerprint(b *testing.B) {
	args := []any{tenFields{
		ID: "order-42", Customer: "customer-7", Amount: 12_50, Currency: "EUR", Rate: 0.19, Express: true,
		Placed: time.Unix(1_700_000_000, 5).UTC(), Lines: []string{"a", "b"}, Street: "Main St", Note: "<left & right>",
	}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := activity.Fingerprint(activity.Policy{}, "w/default/order-42/0/ChargePayment/1", args); err != nil {
			b.Fatal(err)
		}
	}
}

type tenFields struct {
	ID       string    `json:"id"`
	Customer string    `json:"customer"`
	Amount   int64     `json:"amount"`
	Currency string    `json:"currency"`
	Rate     float64   `json:"rate"`
	Express  bool      `json:"express"`
	Placed   time.Time `json:"placed"`
	Lines    []string  `json:"lines"`
	Street   string    `json:"street"`
	Note     string    `json:"note"`
}

// inActivity runs f as an interceptor sees an activity: with a context that only
// the SDK can make.
func inActivity(tb testing.TB, f func(ctx context.Context)) {
	tb.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(discard{})
	suite.SetHeader(&commonpb.Header{Fields: map[string]*commonpb.Payload{wire.HeaderKey: wire.Encode(call(1))}})
	env := suite.NewTestActivityEnvironment()
	env.SetTestTimeout(time.Hour)
	env.SetWorkerOptions(sdkworker.Options{Interceptors: []interceptor.WorkerInterceptor{&place{f: f}}})
	env.RegisterActivityWithOptions(func(context.Context) error { return nil }, sdkactivity.RegisterOptions{Name: "Charge"})
	_, err := env.ExecuteActivity("Charge")
	require.NoError(tb, err)
}

// place is the place of an interceptor.
type place struct {
	interceptor.WorkerInterceptorBase
	interceptor.ActivityInboundInterceptorBase
	f func(ctx context.Context)
}

func (p *place) InterceptActivity(context.Context, interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return p
}

func (p *place) Init(interceptor.ActivityOutboundInterceptor) error { return nil }

func (p *place) ExecuteActivity(ctx context.Context, _ *interceptor.ExecuteActivityInput) (any, error) {
	p.f(ctx)
	return nil, nil
}

// nothing is a body that does nothing.
type nothing struct {
	interceptor.ActivityInboundInterceptorBase
}

func (*nothing) ExecuteActivity(context.Context, *interceptor.ExecuteActivityInput) (any, error) {
	return nil, nil
}

// swapped is a memory store that can be emptied.
type swapped struct{ store.Store }

func (s *swapped) empty(tb testing.TB) {
	tb.Helper()
	memory, err := memstore.New(memstore.Options{})
	require.NoError(tb, err)
	s.Store = memory
}
