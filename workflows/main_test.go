package workflows_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"go.uber.org/goleak"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/wire"
	"github.com/seed5aa7bdf6/temporal-dedupe/workflows"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// seen is what an activity got.
type seen struct {
	activityType string
	arg          any
	present      bool
	facts        wire.Facts
}

// bundle is a test environment whose activities record their headers.
type bundle struct {
	*testsuite.TestWorkflowEnvironment
	recorder *recorder
	logs     *logs
}

// setup makes an environment with interceptors in the given order, followed by
// the recorder. None given: ours alone.
func setup(t *testing.T, chain ...interceptor.WorkerInterceptor) *bundle {
	t.Helper()
	if len(chain) == 0 {
		chain = []interceptor.WorkerInterceptor{workflows.NewInterceptor()}
	}
	b := &bundle{recorder: &recorder{}, logs: &logs{}}
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(b.logs)))
	b.TestWorkflowEnvironment = suite.NewTestWorkflowEnvironment()
	b.SetWorkerOptions(worker.Options{Interceptors: append(chain, b.recorder), EnableSessionWorker: true})
	for _, name := range []string{"Charge", "Ship"} {
		b.RegisterActivityWithOptions(func(context.Context, any) error { return nil }, activity.RegisterOptions{Name: name})
	}
	return b
}

// requireRun runs a workflow of the name "Order" to its end.
func (b *bundle) requireRun(t *testing.T, body func(workflow.Context) error) {
	t.Helper()
	b.run(body)
	require.NoError(t, b.GetWorkflowError())
}

func (b *bundle) run(body func(workflow.Context) error) {
	b.RegisterWorkflowWithOptions(body, workflow.RegisterOptions{Name: "Order"})
	b.ExecuteWorkflow("Order")
}

// facts returns what activities of a type got, in the order of execution.
func (b *bundle) facts(activityType string) []wire.Facts {
	out := []wire.Facts{}
	for _, s := range b.recorder.all() {
		if s.activityType == activityType {
			out = append(out, s.facts)
		}
	}
	return out
}

// byArg returns what the activity with an argument got.
func (b *bundle) byArg(t *testing.T, arg any) wire.Facts {
	t.Helper()
	for _, s := range b.recorder.all() {
		if s.arg == arg {
			require.True(t, s.present)
			return s.facts
		}
	}
	require.Fail(t, "no such activity", "%v", arg)
	return wire.Facts{}
}

// recorder is the activity side of these tests.
type recorder struct {
	interceptor.WorkerInterceptorBase
	mu   sync.Mutex
	seen []seen
}

func (r *recorder) all() []seen {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]seen{}, r.seen...)
}

func (r *recorder) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	i := &recording{recorder: r}
	i.Next = next
	return i
}

type recording struct {
	interceptor.ActivityInboundInterceptorBase
	recorder *recorder
}

func (r *recording) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	s := seen{activityType: activity.GetInfo(ctx).ActivityType.Name}
	if len(in.Args) > 0 {
		s.arg = in.Args[0]
	}
	var payload *commonpb.Payload
	if payload, s.present = interceptor.Header(ctx)[wire.HeaderKey]; s.present {
		var err error
		if s.facts, err = wire.Decode(payload); err == nil {
			err = wire.ForActivity(s.facts, activity.GetInfo(ctx).WorkflowExecution.ID)
		}
		if err != nil {
			return nil, err
		}
	}
	r.recorder.mu.Lock()
	r.recorder.seen = append(r.recorder.seen, s)
	r.recorder.mu.Unlock()
	return r.Next.ExecuteActivity(ctx, in)
}

// logs keeps the messages of level warn and above.
type logs struct {
	mu       sync.Mutex
	messages []string
}

func (l *logs) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }
func (l *logs) WithAttrs([]slog.Attr) slog.Handler               { return l }
func (l *logs) WithGroup(string) slog.Handler                    { return l }
func (l *logs) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := r.Message
	r.Attrs(func(a slog.Attr) bool { text += " " + a.String(); return true })
	l.messages = append(l.messages, text)
	return nil
}

func (l *logs) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string{}, l.messages...)
}
