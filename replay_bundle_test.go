package dedupe_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/proxy"
	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	dedupe "github.com/seed5aa7bdf6/temporal-dedupe"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/devserver/devservertest"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg/localpgtest"
	"github.com/seed5aa7bdf6/temporal-dedupe/migrations"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// row is an activity whose answer must survive.
type row struct {
	name    string
	body    any
	args    []any
	dynamic bool // by a dynamic activity, which bodies of other rows are not
	// final: Temporal ends the activity with the first failure, so that it is
	// replayed. The others run again.
	final bool
	// hangs: without the plugin, Temporal would refuse what the body returns.
	hangs bool
	// changed: what the plugin makes of the error is checked by the row.
	check func(t *testing.T, got told)
}

// wiring is a way to connect to Temporal.
type wiring struct {
	name    string
	data    converter.DataConverter
	failing converter.FailureConverter
	vault   *vault // what decodes what data encodes
}

// plain takes the codec off everything in a message.
func (w wiring) plain(t *testing.T, m told) told {
	t.Helper()
	m = told{proto.CloneOf(m.result), proto.CloneOf(m.failure)}
	if w.vault == nil {
		return m
	}
	visit := proxy.VisitPayloadsOptions{Visitor: func(_ *proxy.VisitPayloadsContext, p []*commonpb.Payload) ([]*commonpb.Payload, error) {
		return w.vault.Decode(p)
	}}
	for _, part := range []proto.Message{m.result, m.failure} {
		if part.ProtoReflect().IsValid() {
			require.NoError(t, proxy.VisitPayloads(t.Context(), part, visit))
		}
	}
	return m
}

// wired connects with a tap and plugins.
func (b *bundle) wired(w wiring, wire *tap, plugins ...client.Plugin) client.Client {
	b.t.Helper()
	o := client.Options{
		HostPort: devservertest.RequireServer(b.t).Address(), Logger: quiet, Plugins: plugins,
		DataConverter: w.data, FailureConverter: w.failing,
	}
	if wire != nil {
		o.ConnectionOptions.DialOptions = []grpc.DialOption{grpc.WithUnaryInterceptor(wire.intercept)}
	}
	c, err := client.Dial(o)
	require.NoError(b.t, err)
	b.t.Cleanup(c.Close)
	return c
}

// inPostgres moves the bundle's records to Postgres.
func (b *bundle) inPostgres() *pgxpool.Pool {
	b.t.Helper()
	url := localpgtest.RequireDatabase(b.t)
	_, err := migrations.Up(b.t.Context(), url, migrations.Options{})
	require.NoError(b.t, err)
	pool, err := pgxpool.New(b.t.Context(), url)
	require.NoError(b.t, err)
	b.t.Cleanup(pool.Close)
	s, err := pgstore.New(b.t.Context(), pool, pgstore.Options{})
	require.NoError(b.t, err)
	b.t.Cleanup(s.Close)
	b.store = s
	return pool
}

// pluginWith makes a plugin of the bundle's store and other options.
func (b *bundle) pluginWith(o dedupe.Options) *dedupe.Plugin {
	b.t.Helper()
	o.Store, o.Logger = b.store, slog.New(slog.DiscardHandler)
	if o.Policies == nil {
		o.Policies = dedupe.Policies{dedupe.AnyActivity: {}}
	}
	p, err := dedupe.NewPlugin(o)
	require.NoError(b.t, err)
	return p
}

// counting counts the bodies that run, inside of the plugin.
type counting struct {
	interceptor.WorkerInterceptorBase
	wire *tap
}

func (c *counting) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	in := &countingInbound{wire: c.wire}
	in.Next = next
	return in
}

type countingInbound struct {
	interceptor.ActivityInboundInterceptorBase
	wire *tap
}

func (c *countingInbound) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	info := sdkactivity.GetInfo(ctx)
	if info.IsLocalActivity {
		info.ActivityID = info.ActivityType.Name // the ID is none
	}
	c.wire.ran(info.ActivityID)
	return c.Next.ExecuteActivity(ctx, in)
}

// options of the rows: short, since losing an answer costs an attempt's time.
var rowOptions = workflow.ActivityOptions{
	StartToCloseTimeout: 4 * time.Second,
	RetryPolicy: &temporal.RetryPolicy{InitialInterval: 10 * time.Millisecond, MaximumAttempts: 3,
		NonRetryableErrorTypes: []string{"Listed", "PanicError", "TimeoutError", "TerminatedError", "ServerError", "ActivityError"}},
}

// serveRows starts a worker for all rows and for the workflow that calls them.
func (b *bundle) serveRows(c client.Client, rows []row, wire *tap) {
	b.t.Helper()
	// Both calls of a row have one business key, so that the second replays.
	call := func(ctx workflow.Context, twice bool) error {
		wg := workflow.NewWaitGroup(ctx)
		for _, r := range rows {
			wg.Add(1)
			workflow.Go(ctx, func(ctx workflow.Context) {
				defer wg.Done()
				for _, id := range []string{r.name, r.name + again} {
					o := rowOptions
					o.ActivityID = id
					ctx = dedupe.WithBusinessKey(workflow.WithActivityOptions(ctx, o), b.queue+r.name)
					_ = workflow.ExecuteActivity(ctx, r.name, r.args...).Get(ctx, nil) // the history tells
					if !twice {
						return
					}
				}
			})
		}
		wg.Wait(ctx)
		return nil
	}
	b.serve(c, b.queue, wire, rows, worker.Options{}, func(w worker.Registry) {
		w.RegisterWorkflowWithOptions(call, workflow.RegisterOptions{Name: "call"})
	})
}

// serve starts a worker for rows and whatever else is registered, and returns
// the function that stops it.
func (b *bundle) serve(c client.Client, queue string, wire *tap, rows []row, o worker.Options, more func(worker.Registry)) (stop func()) {
	b.t.Helper()
	o.WorkerStopTimeout = 5 * time.Second
	o.Interceptors = []interceptor.WorkerInterceptor{&counting{wire: wire}}
	w := worker.New(c, queue, o)
	for _, r := range rows {
		if r.dynamic {
			w.RegisterDynamicActivity(r.body, sdkactivity.DynamicRegisterOptions{})
			continue
		}
		register(w, r.name, r.body)
	}
	more(w)
	require.NoError(b.t, w.Start())
	stop = sync.OnceFunc(w.Stop)
	b.t.Cleanup(stop)
	return stop
}

// native calls the rows without the plugin.
func native(t *testing.T, w wiring, rows []row) map[string]told {
	t.Helper()
	b := setup(t)
	wire := newTap()
	wire.keep = true
	c := b.wired(w, wire)
	var accepted []row
	for _, r := range rows {
		if !r.hangs {
			accepted = append(accepted, r)
		}
	}
	b.serveRows(c, accepted, wire)
	run := b.start(c, b.queue, "call", false)
	require.NoError(t, run.Get(t.Context(), nil))
	activities, _ := recorded(b.history(c, run))
	return activities
}
