package dedupe_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"

	dedupe "github.com/seed5aa7bdf6/temporal-dedupe"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/devserver/devservertest"
)

// answer is what a call gets that is made again.
type answer string

const (
	replays answer = "replay"
	runs    answer = "runs"
	refused answer = "refused"
)

// identity is a row of the truth table: what makes two calls the same.
type identity struct {
	name   string
	policy dedupe.Policy
	mark   func(ctx workflow.Context, id string) workflow.Context
}

var identities = []identity{
	{name: "`ScopeWorkflowID`"},
	{name: "`ScopeExecution`", policy: dedupe.Policy{Scope: dedupe.ScopeExecution}},
	{name: "`ScopeRun`", policy: dedupe.Policy{Scope: dedupe.ScopeRun}},
	{name: "business key", mark: func(ctx workflow.Context, id string) workflow.Context {
		return dedupe.WithBusinessKey(ctx, "invoice of "+id)
	}},
}

// repetition is a column: why a call is made again.
type repetition struct {
	name string
	// notes are the footnotes of the first two rows.
	notes [2]string
	// want are the answers, a letter for each identity: p replays, r runs,
	// x is refused.
	want string
	// make makes a call and then makes it again.
	make func(s *scene) error
}

var repetitions = []repetition{
	{"activity retry", [2]string{}, "pppp", (*scene).activityRetry},
	{"worker lost", [2]string{}, "pppp", (*scene).workerLost},
	{"reset", [2]string{"¹", "¹"}, "pprp", (*scene).reset},
	{"workflow retry", [2]string{"¹", ""}, "prrp", (*scene).workflowRetry},
	{"continue-as-new", [2]string{}, "rrrp", (*scene).continueAsNew},
	{"cron run", [2]string{}, "rrrp", (*scene).cronRun},
	{"cron run, retried", [2]string{}, "rrrp", (*scene).cronRetry},
	{"fresh start, same ID", [2]string{"²", ""}, "xrrp", (*scene).freshStart},
}

var letters = map[byte]answer{'p': replays, 'r': runs, 'x': refused}

// scene is one cell of the table: a workflow on a server of its own identity.
type scene struct {
	*bundle
	client    client.Client
	worker    func() // stops it
	connect   func() client.Client
	made      atomic.Int32 // bodies that ran
	completed *dropper
	behaviour atomic.Value // of the workflow: a string
}

// dropper loses activity completions on their way to Temporal.
type dropper struct{ left atomic.Int32 }

func (d *dropper) intercept(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if _, ok := req.(*workflowservice.RespondActivityTaskCompletedRequest); ok && d.left.Add(-1) >= 0 {
		return nil
	}
	return invoke(ctx, method, req, reply, cc, opts...)
}

func newScene(t *testing.T, id identity) *scene {
	s := &scene{bundle: setup(t), completed: &dropper{}}
	s.behaviour.Store("")
	s.connect = func() client.Client {
		c, err := client.Dial(client.Options{
			HostPort: devservertest.RequireServer(t).Address(), Logger: quiet, Plugins: []client.Plugin{s.plugin(id.policy)},
			ConnectionOptions: client.ConnectionOptions{DialOptions: []grpc.DialOption{grpc.WithUnaryInterceptor(s.completed.intercept)}},
		})
		require.NoError(t, err)
		t.Cleanup(c.Close)
		return c
	}
	s.client = s.connect()
	s.worker = s.serve(s.client, id)
	return s
}

func (s *scene) serve(c client.Client, id identity) func() {
	pay := func(ctx workflow.Context) error {
		info := workflow.GetInfo(ctx)
		charge := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			StartToCloseTimeout: 2 * time.Second,
			RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 10 * time.Millisecond, MaximumAttempts: 4},
		})
		if id.mark != nil {
			charge = id.mark(charge, info.WorkflowExecution.ID)
		}
		if err := workflow.ExecuteActivity(charge, "Pay").Get(ctx, nil); err != nil {
			return err
		}
		switch {
		case s.behaviour.Load() == "fail once" && info.Attempt == 1:
			return errors.New("failed after the charge")
		case s.behaviour.Load() == "continue once" && info.ContinuedExecutionRunID == "":
			return workflow.NewContinueAsNewError(ctx, "pay")
		}
		return nil
	}
	return s.work(c, s.queue, func(r worker.Registry) {
		r.RegisterWorkflowWithOptions(pay, workflow.RegisterOptions{Name: "pay"})
		register(r, "Pay", func(context.Context) (string, error) {
			s.made.Add(1)
			return uuid.NewString(), nil
		})
	})
}

// pay runs the workflow to its end.
func (s *scene) pay() (client.WorkflowRun, error) {
	run := s.start(s.client, s.queue, "pay")
	return run, run.Get(s.t.Context(), nil)
}

func (s *scene) activityRetry() error {
	s.completed.left.Store(1)
	_, err := s.pay()
	return err
}

func (s *scene) workerLost() error {
	s.completed.left.Store(1)
	run := s.start(s.client, s.queue, "pay")
	require.Eventually(s.t, func() bool { return s.completed.left.Load() <= 0 }, 20*time.Second, 10*time.Millisecond)
	s.worker()
	s.serve(s.connect(), identities[0]) // the policies are the plugin's
	return run.Get(s.t.Context(), nil)
}

func (s *scene) reset() error {
	run, err := s.pay()
	require.NoError(s.t, err)
	return s.resetRun(run).Get(s.t.Context(), nil)
}

// resetRun resets a run to the end of its first workflow task.
func (s *scene) resetRun(run client.WorkflowRun) client.WorkflowRun {
	s.t.Helper()
	first := int64(0)
	for _, e := range s.history(s.client, run).GetEvents() {
		if first == 0 && e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			first = e.GetEventId()
		}
	}
	r, err := s.client.ResetWorkflowExecution(s.t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace:         "default",
		WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: run.GetID(), RunId: run.GetRunID()},
		Reason:            "test", RequestId: uuid.NewString(), WorkflowTaskFinishEventId: first,
	})
	require.NoError(s.t, err)
	return s.client.GetWorkflow(s.t.Context(), run.GetID(), r.GetRunId())
}

func (s *scene) workflowRetry() error {
	s.behaviour.Store("fail once")
	return s.startWith(client.StartWorkflowOptions{RetryPolicy: &temporal.RetryPolicy{
		InitialInterval: 10 * time.Millisecond, MaximumAttempts: 2}}).Get(s.t.Context(), nil)
}

func (s *scene) continueAsNew() error {
	s.behaviour.Store("continue once")
	_, err := s.pay()
	return err
}

func (s *scene) cronRun() error {
	return s.secondRun(s.startWith(client.StartWorkflowOptions{CronSchedule: "@every 1s"}))
}

func (s *scene) cronRetry() error {
	s.behaviour.Store("fail once")
	return s.secondRun(s.startWith(client.StartWorkflowOptions{CronSchedule: "@every 2s", RetryPolicy: &temporal.RetryPolicy{
		InitialInterval: 10 * time.Millisecond, MaximumAttempts: 2}}))
}

func (s *scene) startWith(o client.StartWorkflowOptions) client.WorkflowRun {
	s.t.Helper()
	o.ID, o.TaskQueue, o.WorkflowExecutionTimeout = s.queue, s.queue, time.Hour
	run, err := s.client.ExecuteWorkflow(s.t.Context(), o, "pay")
	require.NoError(s.t, err)
	return run
}

// secondRun waits for the end of the second run of a workflow that never ends,
// and ends it.
func (s *scene) secondRun(first client.WorkflowRun) error {
	ctx := s.t.Context()
	defer func() { _ = s.client.TerminateWorkflow(context.Background(), first.GetID(), "", "test") }()
	id := ""
	require.Eventually(s.t, func() bool {
		d, err := s.client.DescribeWorkflowExecution(ctx, first.GetID(), "")
		id = d.GetWorkflowExecutionInfo().GetExecution().GetRunId()
		return err == nil && id != first.GetRunID()
	}, 20*time.Second, 50*time.Millisecond)
	run := s.client.GetWorkflow(ctx, first.GetID(), id)
	return run.GetWithOptions(ctx, nil, client.WorkflowRunGetOptions{DisableFollowingRuns: true})
}

func (s *scene) freshStart() error {
	_, err := s.pay()
	require.NoError(s.t, err)
	_, err = s.pay()
	return err
}

// The table in the docs is this one: every cell is proven on a real server.
func TestTruthTable(t *testing.T) {
	t.Parallel()
	for _, r := range repetitions {
		for i, id := range identities {
			want := letters[r.want[i]]
			t.Run(strings.Trim(id.name, "`")+" on "+r.name+" "+string(want), func(t *testing.T) {
				t.Parallel()
				s := newScene(t, id)
				err := r.make(s)
				if want == refused {
					requireErrType(t, err, dedupe.ErrTypeOtherExecution)
					require.EqualValues(t, 1, s.made.Load())
					return
				}
				var continued *workflow.ContinueAsNewError
				if !errors.As(err, &continued) { // how a cron run ends
					require.NoError(t, err)
				}
				got := runs
				if s.made.Load() == 1 {
					got = replays
				}
				require.Equal(t, want, got, "%d bodies ran", s.made.Load())
			})
		}
	}
}

func TestTruthTableInTheDocs(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	table.WriteString("| |")
	for _, r := range repetitions {
		table.WriteString(" " + r.name + " |")
	}
	table.WriteString("\n|---|" + strings.Repeat("---|", len(repetitions)) + "\n")
	for i, id := range identities {
		table.WriteString("| " + id.name + " |")
		for _, r := range repetitions {
			note := ""
			if i < len(r.notes) {
				note = r.notes[i]
			}
			table.WriteString(" " + string(letters[r.want[i]]) + note + " |")
		}
		table.WriteString("\n")
	}
	page, err := os.ReadFile("docs/keys.md")
	require.NoError(t, err)
	require.Contains(t, string(page), table.String(), "docs/keys.md must hold this table:\n%s", table.String())
}
