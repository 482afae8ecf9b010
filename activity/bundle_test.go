package activity_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	commonpb "go.temporal.io/api/common/v1"
	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	sdkworker "go.temporal.io/sdk/worker"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/wire"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// workflowID is the one that the test environment gives.
const workflowID = "default-test-workflow-id"

// bundle is an interceptor with a memory store and what it emits.
type bundle struct {
	t           *testing.T
	store       store.Store
	interceptor *activity.Interceptor
	metrics     *metric.ManualReader
	log         log.Logger // Temporal's
}

// setup returns a bundle whose policies cover every activity type, changed by
// the functions given.
func setup(t *testing.T, change ...func(*activity.Options)) *bundle {
	t.Helper()
	memory, err := memstore.New(memstore.Options{})
	require.NoError(t, err)
	reader := metric.NewManualReader()
	o := activity.Options{
		Store:         memory,
		Policies:      map[string]activity.Policy{activity.AnyActivity: {}},
		MeterProvider: metric.NewMeterProvider(metric.WithReader(reader)),
		Logger:        slog.New(slog.DiscardHandler),
	}
	for _, c := range change {
		c(&o)
	}
	i, err := activity.NewInterceptor(o)
	require.NoError(t, err)
	return &bundle{t: t, store: o.Store, interceptor: i, metrics: reader, log: discard{}}
}

func withPolicy(p activity.Policy) func(*activity.Options) {
	return func(o *activity.Options) { o.Policies = map[string]activity.Policy{activity.AnyActivity: p} }
}

func withStore(s store.Store) func(*activity.Options) {
	return func(o *activity.Options) { o.Store = s }
}

// env returns an environment that runs activities as the n-th call of their type
// in a workflow; 0 is a call without header.
func (b *bundle) env(n int) *testsuite.TestActivityEnvironment {
	if n == 0 {
		return b.envWith(nil)
	}
	f := call(n)
	return b.envWith(&f)
}

func (b *bundle) envWith(facts *wire.Facts) *testsuite.TestActivityEnvironment {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(b.log)
	if facts != nil {
		suite.SetHeader(&commonpb.Header{Fields: map[string]*commonpb.Payload{wire.HeaderKey: wire.Encode(*facts)}})
	}
	env := suite.NewTestActivityEnvironment()
	env.SetWorkerOptions(workerOptions(b, context.Background()))
	env.SetTestTimeout(time.Minute)
	return env
}

func workerOptions(b *bundle, ctx context.Context) sdkworker.Options { //nolint:revive // the bundle comes first everywhere
	return sdkworker.Options{
		Interceptors:              []interceptor.WorkerInterceptor{b.interceptor},
		BackgroundActivityContext: ctx,
	}
}

// call is the header of the n-th call of its type.
func call(n int) wire.Facts {
	chain := 0
	return wire.Facts{To: wire.ToActivity, WorkflowID: workflowID, RunID: "run-1", Lineage: "run-1", OriginalRunID: "run-1", Chain: &chain, Number: n}
}

// run executes a body as the n-th call of activity type "Charge".
func (b *bundle) run(n int, body any, args ...any) (converter.EncodedValue, error) {
	return runIn(b.env(n), body, args...)
}

func runIn(env *testsuite.TestActivityEnvironment, body any, args ...any) (converter.EncodedValue, error) {
	env.RegisterActivityWithOptions(body, sdkactivity.RegisterOptions{Name: "Charge"})
	return env.ExecuteActivity("Charge", args...)
}

// record returns the record of the n-th call of "Charge".
func (b *bundle) record(n string) store.Record {
	b.t.Helper()
	r, err := b.store.Get(context.Background(), "w/default-test-namespace/"+workflowID+"/0/Charge/"+n)
	require.NoError(b.t, err)
	r.LeaseLeft = 0 // moves with the clock
	return r
}

// moved is how often the record's provider key has moved since its lineage began.
func moved(r store.Record) int { return r.Generation - activity.FirstGeneration(r.Lineage) }

// leaseLive tells whether the n-th call has an owner.
func (b *bundle) leaseLive(n string) bool {
	b.t.Helper()
	r, err := b.store.Get(context.Background(), b.record(n).Key)
	require.NoError(b.t, err)
	return r.LeaseLive()
}

// outcomes returns how often each outcome was counted.
func (b *bundle) outcomes() map[string]int64 {
	b.t.Helper()
	var rm metricdata.ResourceMetrics
	require.NoError(b.t, b.metrics.Collect(context.Background(), &rm))
	got := map[string]int64{}
	for _, scope := range rm.ScopeMetrics {
		for _, m := range scope.Metrics {
			if sum, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == "dedupe.outcome" {
				for _, p := range sum.DataPoints {
					outcome, _ := p.Attributes.Value("outcome")
					got[outcome.AsString()] += p.Value
				}
			}
		}
	}
	return got
}

// payloadOf returns the payload of a result in a form that can be compared.
func payloadOf(t *testing.T, v converter.EncodedValue) string {
	t.Helper()
	if !v.HasValue() {
		return "no payload"
	}
	var raw converter.RawValue
	require.NoError(t, v.Get(&raw))
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(raw.Payload())
	require.NoError(t, err)
	return string(b)
}

// requireErrType asserts on the application error that a workflow would meet.
func requireErrType(t *testing.T, err error, errType string) *temporal.ApplicationError {
	t.Helper()
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.Equal(t, errType, app.Type(), app.Error())
	return app
}

// discard is a logger for environments whose log nobody reads.
type discard struct{}

func (discard) Debug(string, ...any) {}
func (discard) Info(string, ...any)  {}
func (discard) Warn(string, ...any)  {}
func (discard) Error(string, ...any) {}
