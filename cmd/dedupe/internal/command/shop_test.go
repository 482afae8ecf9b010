package command_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	dedupe "github.com/seed5aa7bdf6/temporal-dedupe"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/devserver/devservertest"
)

// receipt is what a charge answers.
type receipt struct {
	ID string `json:"id"`
}

// shop charges orders on a real server, under Refuse, with its records where the
// bundle's are.
type shop struct {
	*bundle
	id     string // tells its workflows from other tests'
	client client.Client

	mu   sync.Mutex
	keys map[string][]dedupe.ProviderKey // of the bodies that ran, by order
	told map[string]int                  // how many confirmations an order's customer has got
	fate func(ctx context.Context, attempt int) error
}

// openShop makes a shop. fate says how the n-th body of an order ends; nil is
// success.
func openShop(t *testing.T, fate func(ctx context.Context, body int) error) *shop {
	t.Helper()
	s := &shop{bundle: setup(t), id: uuid.NewString()[:8], keys: map[string][]dedupe.ProviderKey{}, told: map[string]int{}, fate: fate}
	plugin, err := dedupe.NewPlugin(dedupe.Options{
		Store: s.store, Policies: dedupe.Policies{"ChargePayment": {Takeover: dedupe.Refuse}}, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	s.client, err = client.Dial(client.Options{
		HostPort: devservertest.RequireServer(t).Address(), Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
		Plugins: []client.Plugin{plugin},
	})
	require.NoError(t, err)
	t.Cleanup(s.client.Close)
	return s
}

// work starts a worker and returns what stops it.
func (s *shop) work() (stop func()) {
	s.t.Helper()
	w := sdkworker.New(s.client, s.id, sdkworker.Options{WorkerStopTimeout: 5 * time.Second})
	w.RegisterWorkflowWithOptions(order, workflow.RegisterOptions{Name: "Order"})
	w.RegisterActivityWithOptions(s.confirm, sdkactivity.RegisterOptions{Name: "SendConfirmation"})
	w.RegisterActivityWithOptions(s.charge, sdkactivity.RegisterOptions{Name: "ChargePayment"})
	require.NoError(s.t, w.Start())
	stop = sync.OnceFunc(w.Stop)
	s.t.Cleanup(stop)
	return stop
}

// order is a workflow that confirms, without a policy, and then charges once.
func order(ctx workflow.Context) (receipt, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 40 * time.Second,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 50 * time.Millisecond},
	})
	var r receipt
	if err := workflow.ExecuteActivity(ctx, "SendConfirmation").Get(ctx, nil); err != nil {
		return r, err
	}
	err := workflow.ExecuteActivity(ctx, "ChargePayment", 100).Get(ctx, &r)
	return r, err
}

// confirm is an activity without a policy.
func (s *shop) confirm(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told[sdkactivity.GetInfo(ctx).WorkflowExecution.ID]++
	return nil
}

// confirmed is how many confirmations an order's customer has got.
func (s *shop) confirmed(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.told[id]
}

// charge is the activity that has one.
func (s *shop) charge(ctx context.Context, _ int) (receipt, error) {
	id := sdkactivity.GetInfo(ctx).WorkflowExecution.ID
	s.mu.Lock()
	s.keys[id] = append(s.keys[id], dedupe.Key(ctx))
	n := len(s.keys[id])
	s.mu.Unlock()
	if err := s.fate(ctx, n); err != nil {
		return receipt{}, err
	}
	return receipt{ID: "from the body"}, nil
}

// sent are the provider keys of the bodies that ran for an order.
func (s *shop) sent(id string) []dedupe.ProviderKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]dedupe.ProviderKey(nil), s.keys[id]...)
}

func (s *shop) start(id string) client.WorkflowRun {
	s.t.Helper()
	run, err := s.client.ExecuteWorkflow(s.t.Context(), client.StartWorkflowOptions{
		ID: id, TaskQueue: s.id, WorkflowExecutionTimeout: 5 * time.Minute,
	}, "Order")
	require.NoError(s.t, err)
	return run
}

// held starts an order and waits until nobody knows how its charge ended.
func (s *shop) held(id string) client.WorkflowRun {
	s.t.Helper()
	run := s.start(id)
	var app *temporal.ApplicationError
	require.ErrorAs(s.t, run.Get(s.t.Context(), nil), &app)
	require.Equal(s.t, dedupe.ErrTypeOutcomeUnknown, app.Type())
	return run
}

// tasks are the event IDs at which an order's workflow tasks were completed; charge is
// the one of them that has scheduled its charge.
func (s *shop) tasks(id string) (completed []int64, charge int64) {
	s.t.Helper()
	events := s.client.GetWorkflowHistory(s.t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		require.NoError(s.t, err)
		if e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			completed = append(completed, e.GetEventId())
		}
		if a := e.GetActivityTaskScheduledEventAttributes(); a.GetActivityType().GetName() == "ChargePayment" {
			charge = a.GetWorkflowTaskCompletedEventId()
		}
	}
	return completed, charge
}

// reset runs an order again from the workflow task that has scheduled its charge.
func (s *shop) reset(id string) client.WorkflowRun {
	s.t.Helper()
	_, charge := s.tasks(id)
	return s.resetTo(id, charge)
}

func (s *shop) resetTo(id string, event int64) client.WorkflowRun {
	s.t.Helper()
	r, err := s.client.ResetWorkflowExecution(s.t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: "default", WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id},
		Reason: "resolved", RequestId: uuid.NewString(), WorkflowTaskFinishEventId: event,
	})
	require.NoError(s.t, err)
	return s.client.GetWorkflow(s.t.Context(), id, r.GetRunId())
}

func keyOf(id string) string { return "w/default/" + id + "/0/ChargePayment/1" }

// firstFails is the fate of orders whose first body loses the provider's answer.
func firstFails(_ context.Context, body int) error {
	if body == 1 {
		return errors.New("timeout talking to the provider")
	}
	return nil
}

func TestResolvedCallsDoWhatTheVerbSays(t *testing.T) {
	t.Parallel()
	s := openShop(t, firstFails)
	s.work()
	verb := func(id string, args ...string) {
		t.Helper()
		s.run(0, append([]string{"records", args[0], keyOf(id), "--reason", "looked at the provider", "--yes"}, args[1:]...)...)
	}
	for name, c := range map[string]struct {
		args   []string
		bodies int
		want   receipt
		same   bool
	}{
		"release":           {[]string{"release"}, 2, receipt{"from the body"}, true},
		"release-fresh-key": {[]string{"release", "--fresh-key"}, 2, receipt{"from the body"}, false},
		"complete":          {[]string{"complete", "--result-json", writeFile(t, `{"id":"from the operator"}`)}, 1, receipt{"from the operator"}, true},
		"complete-nothing":  {[]string{"complete", "--no-result"}, 1, receipt{}, true},
		// A reset schedules the call anew, and a failure is final for its own
		// scheduling only.
		"fail": {[]string{"fail", "--message", "refused by hand"}, 2, receipt{"from the body"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := strings.Join([]string{"order", s.id, name}, "-")
			s.held(id)
			require.Len(t, s.sent(id), 1)
			verb(id, c.args...)
			var got receipt
			require.NoError(t, s.reset(id).Get(t.Context(), &got))
			require.Equal(t, c.want, got)
			sent := s.sent(id)
			require.Len(t, sent, c.bodies)
			require.Equal(t, c.same, sent[0] == sent[len(sent)-1], "the provider key")
		})
	}

	// What docs/operations.md says of the points to which a workflow can be reset.
	for name, c := range map[string]struct {
		point         func(tasks []int64, charge int64) int64
		unknown       bool
		confirmations int
	}{
		"the task that has scheduled the call": {func(_ []int64, charge int64) int64 { return charge }, false, 1},
		"FirstWorkflowTask":                    {func(tasks []int64, _ int64) int64 { return tasks[0] }, false, 2},
		"LastWorkflowTask":                     {func(tasks []int64, _ int64) int64 { return tasks[len(tasks)-1] }, true, 1},
	} {
		t.Run("complete, and reset to "+name, func(t *testing.T) {
			t.Parallel()
			id := strings.Join([]string{"order", s.id, strings.ReplaceAll(name, " ", "-")}, "-")
			s.held(id)
			verb(id, "complete", "--no-result")
			err := s.resetTo(id, c.point(s.tasks(id))).Get(t.Context(), nil)
			if c.unknown {
				var app *temporal.ApplicationError
				require.ErrorAs(t, err, &app)
				require.Equal(t, dedupe.ErrTypeOutcomeUnknown, app.Type(), "the answer that it has got stands in the history")
			} else {
				require.NoError(t, err)
			}
			require.Len(t, s.sent(id), 1)
			require.Equal(t, c.confirmations, s.confirmed(id))
		})
	}

	t.Run("unresolved", func(t *testing.T) {
		t.Parallel()
		id := "order-" + s.id + "-unresolved"
		s.held(id)
		var app *temporal.ApplicationError
		require.ErrorAs(t, s.reset(id).Get(t.Context(), nil), &app)
		require.Equal(t, dedupe.ErrTypeOutcomeUnknown, app.Type())
		require.Len(t, s.sent(id), 1)
	})

	t.Run("purge", func(t *testing.T) {
		t.Parallel()
		id := "order-" + s.id + "-purge"
		s.held(id)
		verb(id, "complete", "--no-result")
		verb(id, "purge")
		var app *temporal.ApplicationError
		require.ErrorAs(t, s.reset(id).Get(t.Context(), nil), &app)
		require.Equal(t, dedupe.ErrTypeRecordCorrupt, app.Type())
		require.Len(t, s.sent(id), 1)
	})
}

// The next attempt of the same scheduling gets the operator's failure: the call
// is resolved while no worker is there to try again.
func TestTheWorkflowSeesTheFailureOfAnOperator(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{}, 1)
	s := openShop(t, func(ctx context.Context, _ int) error {
		begun <- struct{}{}
		<-sdkactivity.GetWorkerStopChannel(ctx)
		return errors.New("timeout talking to the provider")
	})
	stop := s.work()
	id := "order-" + s.id
	run := s.start(id)
	<-begun
	stop()
	s.run(0, "records", "fail", keyOf(id), "--message", "refused by hand", "--type", "Manual", "--reason", "fraud", "--yes")
	s.work()
	var app *temporal.ApplicationError
	require.ErrorAs(t, run.Get(t.Context(), nil), &app)
	require.Equal(t, "Manual", app.Type())
	require.Equal(t, "refused by hand", app.Message())
	require.True(t, app.NonRetryable())
	require.Len(t, s.sent(id), 1)
}

// An execution that is at work loses its record to an operator's force, and what
// it answers is not recorded.
func TestForceTakesARecordFromALiveExecution(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{}, 9)
	cancelled := make(chan error, 9)
	s := openShop(t, func(ctx context.Context, body int) error {
		if body > 1 {
			return nil
		}
		begun <- struct{}{}
		<-ctx.Done()
		cancelled <- context.Cause(ctx)
		return ctx.Err()
	})
	s.work()
	id := "order-" + s.id
	run := s.start(id)
	<-begun
	release := []string{"records", "release", keyOf(id), "--reason", "hangs", "--yes"}
	require.Contains(t, s.run(1, release...).out, "lease_live")
	s.run(0, append(release, "--force")...)
	require.ErrorIs(t, <-cancelled, dedupe.ErrLeaseLost)
	var got receipt
	require.NoError(t, run.Get(t.Context(), &got))
	require.Equal(t, receipt{"from the body"}, got)
	sent := s.sent(id)
	require.Len(t, sent, 2)
	require.Equal(t, sent[0], sent[1])
}
