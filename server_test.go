package dedupe_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	dedupe "github.com/seed5aa7bdf6/temporal-dedupe"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/devserver/devservertest"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/memstore"
)

// bundle is a task queue of its own on a real server, and a store.
type bundle struct {
	t     *testing.T
	queue string
	store store.Store
}

func setup(t *testing.T) *bundle {
	t.Helper()
	memory, err := memstore.New(memstore.Options{})
	require.NoError(t, err)
	return &bundle{t: t, queue: uuid.NewString(), store: memory}
}

// quiet is a logger for clients whose log nobody reads.
var quiet = log.NewStructuredLogger(slog.New(slog.DiscardHandler))

// client connects with the plugins given.
func (b *bundle) client(plugins ...client.Plugin) client.Client {
	b.t.Helper()
	return b.clientWith(client.Options{}, plugins...)
}

// clientWith connects with more options.
func (b *bundle) clientWith(o client.Options, plugins ...client.Plugin) client.Client {
	b.t.Helper()
	o.HostPort, o.Plugins = devservertest.RequireServer(b.t).Address(), plugins
	if o.Logger == nil {
		o.Logger = quiet
	}
	c, err := client.Dial(o)
	require.NoError(b.t, err)
	b.t.Cleanup(c.Close)
	return c
}

// plugin covers every activity type, with one policy.
func (b *bundle) plugin(policies ...dedupe.Policy) *dedupe.Plugin {
	b.t.Helper()
	policy := dedupe.Policy{}
	for _, p := range policies {
		policy = p
	}
	p, err := dedupe.NewPlugin(dedupe.Options{
		Store: b.store, Policies: dedupe.Policies{dedupe.AnyActivity: policy}, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(b.t, err)
	return p
}

// work starts a worker and returns the function that stops it; the end of the
// test does too.
func (b *bundle) work(c client.Client, queue string, register func(worker.Registry)) (stop func()) {
	b.t.Helper()
	w := worker.New(c, queue, worker.Options{WorkerStopTimeout: 5 * time.Second})
	register(w)
	require.NoError(b.t, w.Start())
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			w.Stop()
		}
	}
	b.t.Cleanup(stop)
	return stop
}

// start starts a workflow by its registered name.
func (b *bundle) start(c client.Client, id string, wf any, args ...any) client.WorkflowRun {
	b.t.Helper()
	run, err := c.ExecuteWorkflow(b.t.Context(), client.StartWorkflowOptions{
		ID: id, TaskQueue: b.queue, WorkflowExecutionTimeout: time.Minute,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
	}, wf, args...)
	require.NoError(b.t, err)
	return run
}

// history returns all events of a run.
func (b *bundle) history(c client.Client, run client.WorkflowRun) *historypb.History {
	b.t.Helper()
	var h historypb.History
	events := c.GetWorkflowHistory(b.t.Context(), run.GetID(), run.GetRunID(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		require.NoError(b.t, err)
		h.Events = append(h.Events, e)
	}
	return &h
}

// options are those of every activity in these tests.
func options(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 10 * time.Second,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 50 * time.Millisecond, MaximumAttempts: 5},
	})
}

// provider is a payment provider that notes each charge.
type provider struct{ charges chan string }

func newProvider() *provider { return &provider{charges: make(chan string, 1000)} }

// Charge is the activity.
func (p *provider) Charge(_ context.Context, amount string) (string, error) {
	p.charges <- amount
	return "charged " + amount, nil
}

func (p *provider) register(r worker.Registry) { register(r, "Charge", p.Charge) }

// register registers an activity under a name.
func register(r worker.Registry, name string, activity any) {
	r.RegisterActivityWithOptions(activity, sdkactivity.RegisterOptions{Name: name})
}

// made returns the charges so far, sorted.
func (p *provider) made() []string {
	var made []string
	for {
		select {
		case c := <-p.charges:
			made = append(made, c)
		default:
			for _, c := range made {
				p.charges <- c
			}
			slices.Sort(made)
			return made
		}
	}
}

// chargeAll charges each amount in turn and returns the answers.
func chargeAll(ctx workflow.Context, amounts []string) ([]string, error) {
	ctx = options(ctx)
	var answers []string
	for _, amount := range amounts {
		var answer string
		if err := workflow.ExecuteActivity(ctx, "Charge", amount).Get(ctx, &answer); err != nil {
			return nil, err
		}
		answers = append(answers, answer)
	}
	return answers, nil
}

// requireErrType asserts on the application error that ended a workflow.
func requireErrType(t *testing.T, err error, errType string) *temporal.ApplicationError {
	t.Helper()
	var app *temporal.ApplicationError
	for e := err; e != nil; e = errors.Unwrap(e) {
		if a, ok := e.(*temporal.ApplicationError); ok && a.Type() == errType { //nolint:errorlint // each error of the chain is looked at
			app = a
		}
	}
	require.NotNil(t, app, "no %s in %v", errType, err)
	return app
}

func requireNoFailedTask(t *testing.T, h *historypb.History) {
	t.Helper()
	for _, e := range h.GetEvents() {
		require.NotEqual(t, enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED, e.GetEventType(), e.String())
	}
}

func TestCalls(t *testing.T) {
	t.Parallel()

	t.Run("two calls of one activity with equal arguments both run", func(t *testing.T) {
		t.Parallel()
		b, p := setup(t), newProvider()
		c := b.client(b.plugin())
		b.work(c, b.queue, func(r worker.Registry) { r.RegisterWorkflow(chargeAll); p.register(r) })
		var answers []string
		require.NoError(t, b.start(c, b.queue, chargeAll, []string{"10", "10"}).Get(t.Context(), &answers))
		require.Equal(t, []string{"charged 10", "charged 10"}, answers)
		require.Equal(t, []string{"10", "10"}, p.made())
	})

	t.Run("and so they do without the workflow side", func(t *testing.T) {
		t.Parallel()
		b, p := setup(t), newProvider()
		plain, c := b.client(), b.client(b.plugin())
		charge := func(ctx workflow.Context) error {
			ctx = workflow.WithTaskQueue(options(ctx), b.queue+"-activities")
			for range 2 {
				if err := workflow.ExecuteActivity(ctx, "Charge", "10").Get(ctx, nil); err != nil {
					return err
				}
			}
			return nil
		}
		b.work(plain, b.queue, func(r worker.Registry) {
			r.RegisterWorkflowWithOptions(charge, workflow.RegisterOptions{Name: "charge"})
		})
		b.work(c, b.queue+"-activities", p.register)
		require.NoError(t, b.start(plain, b.queue, "charge").Get(t.Context(), nil))
		require.Equal(t, []string{"10", "10"}, p.made())
	})

	t.Run("parallel branches never swap their results", func(t *testing.T) {
		t.Parallel()
		b, p := setup(t), newProvider()
		c := b.client(b.plugin())
		branches := func(ctx workflow.Context) (map[string]string, error) {
			ctx = options(ctx)
			got, wg := map[string]string{}, workflow.NewWaitGroup(ctx)
			var failed error
			for _, amount := range []string{"1", "2", "3", "4", "5", "6"} {
				wg.Add(1)
				workflow.Go(ctx, func(ctx workflow.Context) {
					defer wg.Done()
					var answer string
					if err := workflow.ExecuteActivity(ctx, "Charge", amount).Get(ctx, &answer); err != nil {
						failed = err
					}
					got[amount] = answer
				})
			}
			wg.Wait(ctx)
			return got, failed
		}
		b.work(c, b.queue, func(r worker.Registry) {
			r.RegisterWorkflowWithOptions(branches, workflow.RegisterOptions{Name: "branches"})
			p.register(r)
		})
		for range 5 {
			var got map[string]string
			require.NoError(t, b.start(c, uuid.NewString(), "branches").Get(t.Context(), &got))
			for amount, answer := range got {
				require.Equal(t, "charged "+amount, answer)
			}
		}
		require.Len(t, p.made(), 30)
	})

	t.Run("a key reused for another request is refused, readably, and nothing is written", func(t *testing.T) {
		t.Parallel()
		b, p := setup(t), newProvider()
		c := b.client(b.plugin())
		twice := func(ctx workflow.Context) error {
			ctx = dedupe.WithBusinessKey(options(ctx), "invoice-7 "+b.queue)
			if err := workflow.ExecuteActivity(ctx, "Charge", "10").Get(ctx, nil); err != nil {
				return err
			}
			return workflow.ExecuteActivity(ctx, "Charge", "99").Get(ctx, nil)
		}
		b.work(c, b.queue, func(r worker.Registry) {
			r.RegisterWorkflowWithOptions(twice, workflow.RegisterOptions{Name: "twice"})
			p.register(r)
		})
		run := b.start(c, b.queue, "twice")
		app := requireErrType(t, run.Get(t.Context(), nil), dedupe.ErrTypeConflict)
		require.Contains(t, app.Error(), "was reused for a different request")
		require.Equal(t, []string{"10"}, p.made())
		// What Temporal's UI shows is the failure in the history.
		shown := ""
		for _, e := range b.history(c, run).GetEvents() {
			if f := e.GetActivityTaskFailedEventAttributes().GetFailure(); f != nil {
				shown = f.GetMessage()
			}
		}
		require.Contains(t, shown, "was reused for a different request")
		require.Contains(t, shown, "nothing was written")
	})

	t.Run("a workflow ID used again after it closed is refused, naming both runs and the remedies", func(t *testing.T) {
		t.Parallel()
		b, p := setup(t), newProvider()
		c := b.client(b.plugin())
		b.work(c, b.queue, func(r worker.Registry) { r.RegisterWorkflow(chargeAll); p.register(r) })
		first := b.start(c, b.queue, chargeAll, []string{"10"})
		require.NoError(t, first.Get(t.Context(), nil))
		second := b.start(c, b.queue, chargeAll, []string{"10"})
		app := requireErrType(t, second.Get(t.Context(), nil), dedupe.ErrTypeOtherExecution)
		for _, part := range []string{first.GetRunID(), second.GetRunID(), "new workflow ID", "OnOtherExecution", "Scope"} {
			require.Contains(t, app.Error(), part)
		}
		require.Equal(t, []string{"10"}, p.made())
	})

	t.Run("the workflow side alone needs no store", func(t *testing.T) {
		t.Parallel()
		b, p := setup(t), newProvider()
		flows, acts := b.client(dedupe.NewWorkflowPlugin()), b.client(b.plugin())
		charge := func(ctx workflow.Context) (string, error) {
			ctx = workflow.WithTaskQueue(options(ctx), b.queue+"-activities")
			var answer string
			err := workflow.ExecuteActivity(ctx, "Charge", "10").Get(ctx, &answer)
			return answer, err
		}
		b.work(flows, b.queue, func(r worker.Registry) {
			r.RegisterWorkflowWithOptions(charge, workflow.RegisterOptions{Name: "charge"})
		})
		b.work(acts, b.queue+"-activities", p.register)
		require.NoError(t, b.start(flows, b.queue, "charge").Get(t.Context(), nil))
		r, err := b.store.Get(t.Context(), "w/default/"+b.queue+"/0/Charge/1")
		require.NoError(t, err)
		require.Equal(t, store.StatusCompleted, r.Status)
	})

	t.Run("a plugin that is registered twice counts once", func(t *testing.T) {
		t.Parallel()
		b, p := setup(t), newProvider()
		plugin := b.plugin()
		c := b.client(plugin, plugin)
		b.work(c, b.queue, func(r worker.Registry) { r.RegisterWorkflow(chargeAll); p.register(r) })
		require.NoError(t, b.start(c, b.queue, chargeAll, []string{"10", "10"}).Get(t.Context(), nil))
		require.Len(t, p.made(), 2)
		r, err := b.store.Get(t.Context(), "w/default/"+b.queue+"/0/Charge/2")
		require.NoError(t, err)
		require.Equal(t, 1, r.Acquisitions)
	})
}

func TestRollout(t *testing.T) {
	t.Parallel()
	b, p := setup(t), newProvider()
	stepwise := func(ctx workflow.Context) ([]string, error) {
		ctx = options(ctx)
		var answers []string
		for range 3 {
			var amount, answer string
			workflow.GetSignalChannel(ctx, "charge").Receive(ctx, &amount)
			if err := workflow.ExecuteActivity(ctx, "Charge", amount).Get(ctx, &answer); err != nil {
				return nil, err
			}
			answers = append(answers, answer)
			if err := workflow.SetQueryHandler(ctx, "answers", func() (int, error) { return len(answers), nil }); err != nil {
				return nil, err
			}
		}
		return answers, nil
	}
	register := func(r worker.Registry) {
		r.RegisterWorkflowWithOptions(stepwise, workflow.RegisterOptions{Name: "stepwise"})
		p.register(r)
	}
	plain, protected := b.client(), b.client(b.plugin())
	run := b.start(plain, b.queue, "stepwise")
	for i, c := range []client.Client{plain, protected, plain} {
		stop := b.work(c, b.queue, register)
		require.NoError(t, c.SignalWorkflow(t.Context(), run.GetID(), "", "charge", strings.Repeat("1", i+1)))
		if i < 2 {
			require.Eventually(t, func() bool {
				v, err := c.QueryWorkflow(t.Context(), run.GetID(), "", "answers")
				var n int
				return err == nil && v.Get(&n) == nil && n == i+1
			}, 20*time.Second, 50*time.Millisecond)
			stop()
		}
	}
	var answers []string
	require.NoError(t, run.Get(t.Context(), &answers))
	require.Equal(t, []string{"charged 1", "charged 11", "charged 111"}, answers)

	h := b.history(plain, run)
	requireNoFailedTask(t, h)
	r, err := b.store.Get(t.Context(), "w/default/"+b.queue+"/0/Charge/2")
	require.NoError(t, err, "the interceptor counts the call that was made before it was switched on")
	require.Equal(t, store.StatusCompleted, r.Status)

	for name, plugins := range map[string][]worker.Plugin{"without": nil, "with": {b.plugin()}} {
		replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{Plugins: plugins})
		require.NoError(t, err)
		replayer.RegisterWorkflowWithOptions(stepwise, workflow.RegisterOptions{Name: "stepwise"})
		require.NoError(t, replayer.ReplayWorkflowHistory(quiet, h), name)
	}
}

// lines is a log that is read while others write it.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) count(words ...string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
			n++
		}
	}
	return n
}

// Where no option sets a schedule-to-close, Temporal does.
func TestUnlimitedRetriesAreToldOnceForAType(t *testing.T) {
	t.Parallel()
	b, told := setup(t), &lines{}
	c := b.clientWith(client.Options{Logger: log.NewStructuredLogger(slog.New(slog.NewTextHandler(told, nil)))}, b.plugin())
	flow := func(ctx workflow.Context, activityType string) error {
		ctx = workflow.WithLocalActivityOptions(options(ctx), workflow.LocalActivityOptions{StartToCloseTimeout: 10 * time.Second})
		for range 2 {
			if err := workflow.ExecuteActivity(ctx, activityType).Get(ctx, nil); err != nil {
				return err
			}
		}
		return workflow.ExecuteLocalActivity(ctx, "Local").Get(ctx, nil)
	}
	b.work(c, b.queue, func(r worker.Registry) {
		r.RegisterWorkflowWithOptions(flow, workflow.RegisterOptions{Name: "flow"})
		for _, name := range []string{"Unlimited", "InARun", "Alone", "Local"} {
			register(r, name, func(context.Context) error { return nil })
		}
	})
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: b.queue + "-1", TaskQueue: b.queue}, "flow", "Unlimited")
	require.NoError(t, err)
	require.NoError(t, run.Get(t.Context(), nil))
	require.NoError(t, b.start(c, b.queue+"-2", "flow", "InARun").Get(t.Context(), nil))
	alone, err := c.ExecuteActivity(t.Context(), client.StartActivityOptions{ID: b.queue, TaskQueue: b.queue, StartToCloseTimeout: 10 * time.Second}, "Alone")
	require.NoError(t, err)
	require.NoError(t, alone.Get(t.Context(), nil))

	const remedy = "set ScheduleToCloseTimeout"
	require.Equal(t, 1, told.count(remedy, "ActivityType=Unlimited", "ScheduleToCloseTimeout=unlimited", "Retention=168h0m0s"))
	require.Zero(t, told.count(remedy, "ActivityType=InARun"), "it has the minute of its run")
	require.Zero(t, told.count(remedy, "ActivityType=Local"), "it has its start-to-close")
	require.Equal(t, 1, told.count(remedy, "ActivityType=Alone"))
}
