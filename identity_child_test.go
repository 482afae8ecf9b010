package dedupe_test

import (
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	dedupe "github.com/seed5aa7bdf6/temporal-dedupe"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/wire"
)

// family is a parent with children.
type family struct {
	*bundle
	*provider
	client client.Client
}

func newFamily(t *testing.T, policy dedupe.Policy) *family {
	f := &family{bundle: setup(t), provider: newProvider()}
	f.client = f.bundle.client(f.plugin(policy))
	f.work(f.client, f.queue, func(r worker.Registry) {
		registerWorkflow(r, "parent", parent)
		registerWorkflow(r, "nest", func(ctx workflow.Context, amount string) error { return bear(ctx, "child", "", amount) })
		registerWorkflow(r, "child", child)
		f.provider.register(r)
	})
	return f
}

// birth says which children a parent has.
type birth struct {
	Type, ID  string
	Amounts   []string
	FailFirst bool // the parent's first attempt fails in the end
}

func parent(ctx workflow.Context, b birth) error {
	for _, amount := range b.Amounts {
		if err := bear(ctx, b.Type, b.ID, amount); err != nil {
			return err
		}
	}
	if b.FailFirst && workflow.GetInfo(ctx).Attempt == 1 {
		return errors.New("failed in the end")
	}
	return nil
}

// bear runs a child to its end.
func bear(ctx workflow.Context, childType, id, amount string) error {
	ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{WorkflowID: id})
	return workflow.ExecuteChildWorkflow(ctx, childType, amount).Get(ctx, nil)
}

// child charges twice, and once more after it has continued as new.
func child(ctx workflow.Context, amount string) error {
	again := workflow.GetInfo(ctx).ContinuedExecutionRunID != ""
	for _, n := range []string{"first", "second"} {
		want := "charged " + n + " " + amount + " " + strconv.FormatBool(again)
		switch got, err := charge(ctx, n+" "+amount+" "+strconv.FormatBool(again)); {
		case err != nil:
			return err
		case got != want:
			return errors.New("crossed: got " + got + ", want " + want)
		}
		if again {
			return nil
		}
	}
	return workflow.NewContinueAsNewError(ctx, "child", amount)
}

// children returns the workflow IDs of a run's children.
func (f *family) children(run client.WorkflowRun) []string {
	var ids []string
	for _, e := range f.history(f.client, run).GetEvents() {
		if a := e.GetChildWorkflowExecutionStartedEventAttributes(); a != nil {
			ids = append(ids, a.GetWorkflowExecution().GetWorkflowId())
		}
	}
	return ids
}

func TestChildren(t *testing.T) {
	t.Parallel()

	for _, childType := range []string{"child", "nest"} {
		t.Run("a "+childType+" without an ID of its own replays after a reset of its parent, under a new workflow ID", func(t *testing.T) {
			t.Parallel()
			f := newFamily(t, dedupe.Policy{})
			run := f.start(f.client, f.queue, "parent", birth{Type: childType, Amounts: []string{"10", "10"}})
			require.NoError(t, run.Get(t.Context(), nil))
			require.Len(t, f.made(), 6, "children of one type are told apart")
			again := f.reset(f.client, run, 1)
			require.NoError(t, again.Get(t.Context(), nil))
			require.Len(t, f.made(), 6)
			before, after := f.children(run), f.children(again)
			require.Len(t, after, 2)
			for _, id := range after {
				require.NotContains(t, before, id)
			}
		})
	}

	for scope, want := range map[string]int{"ScopeWorkflowID": 3, "ScopeExecution": 6} {
		t.Run("a parent that a workflow retry repeats has its children make "+strconv.Itoa(want)+" calls, under "+scope, func(t *testing.T) {
			t.Parallel()
			f := newFamily(t, scopes[scope])
			run, err := f.client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
				ID: f.queue, TaskQueue: f.queue, RetryPolicy: &temporal.RetryPolicy{InitialInterval: 10 * time.Millisecond, MaximumAttempts: 2},
			}, "parent", birth{Type: "child", Amounts: []string{"10"}, FailFirst: true})
			require.NoError(t, err)
			require.NoError(t, run.Get(t.Context(), nil))
			require.Len(t, f.made(), want)
		})
	}

	t.Run("a child with an ID of its own is started afresh by a reset of its parent, and refused like any other", func(t *testing.T) {
		t.Parallel()
		f := newFamily(t, dedupe.Policy{})
		run := f.start(f.client, f.queue, "parent", birth{Type: "child", ID: f.queue + "-child", Amounts: []string{"10"}})
		require.NoError(t, run.Get(t.Context(), nil))
		requireErrType(t, f.reset(f.client, run, 1).Get(t.Context(), nil), dedupe.ErrTypeOtherExecution)
		require.Len(t, f.made(), 3)
	})

	t.Run("unless its policy says that the workflow ID is the operation", func(t *testing.T) {
		t.Parallel()
		f := newFamily(t, dedupe.Policy{OnOtherExecution: dedupe.ReplayOther})
		run := f.start(f.client, f.queue, "parent", birth{Type: "child", ID: f.queue + "-child", Amounts: []string{"10"}})
		require.NoError(t, run.Get(t.Context(), nil))
		require.NoError(t, f.reset(f.client, run, 1).Get(t.Context(), nil))
		require.Len(t, f.made(), 3)
	})

	for scope := range scopes {
		t.Run("a cron child without an ID of its own makes the calls of its first run once, under "+scope, func(t *testing.T) {
			t.Parallel()
			f := newFamily(t, scopes[scope])
			f.queue += "-cron"
			f.work(f.client, f.queue, func(r worker.Registry) {
				registerWorkflow(r, "parent", func(ctx workflow.Context) error {
					ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{CronSchedule: "@every 1s"})
					workflow.ExecuteChildWorkflow(ctx, "child")
					await(ctx, "charged")
					await(ctx, "go")
					return nil
				})
				registerWorkflow(r, "child", func(ctx workflow.Context) error {
					if _, err := charge(ctx, "10"); err != nil {
						return err
					}
					parent := workflow.GetInfo(ctx).ParentWorkflowExecution
					_ = workflow.SignalExternalWorkflow(ctx, parent.ID, parent.RunID, "charged", nil).Get(ctx, nil)
					await(ctx, "never")
					return nil
				})
				f.provider.register(r)
			})
			run := f.start(f.client, f.queue, "parent")
			charged := func(run client.WorkflowRun, times int) {
				require.Eventually(t, func() bool {
					n := 0
					for _, e := range f.history(f.client, run).GetEvents() {
						if e.GetWorkflowExecutionSignaledEventAttributes().GetSignalName() == "charged" {
							n++
						}
					}
					return n == times
				}, eventually, tick)
			}
			charged(run, 1)
			again := f.reset(f.client, run, 1)
			charged(again, 2) // the reset carries the first one over
			want := 1
			if scope == "ScopeRun" {
				want = 2
			}
			require.Len(t, f.made(), want)
			require.NoError(t, f.client.SignalWorkflow(t.Context(), again.GetID(), "", "go", nil))
			require.NoError(t, again.Get(t.Context(), nil))
		})
	}

	t.Run("children that were about to start at the point of a reset keep their place", func(t *testing.T) {
		t.Parallel()
		f := newFamily(t, dedupe.Policy{})
		entered, signalled := make(chan struct{}), make(chan struct{})
		var once sync.Once
		brood := func(ctx workflow.Context) error {
			// A signal that arrives during the first workflow task makes the
			// second one begin together with the children.
			once.Do(func() { close(entered); <-signalled })
			ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{ParentClosePolicy: enumspb.PARENT_CLOSE_POLICY_ABANDON})
			var all []workflow.ChildWorkflowFuture
			for i := range 40 {
				all = append(all, workflow.ExecuteChildWorkflow(ctx, "single", strconv.Itoa(i)))
			}
			for _, one := range all {
				if err := one.Get(ctx, nil); err != nil {
					return err
				}
			}
			return nil
		}
		f.queue += "-brood"
		f.work(f.client, f.queue, func(r worker.Registry) {
			registerWorkflow(r, "brood", brood)
			registerWorkflow(r, "single", func(ctx workflow.Context, amount string) error { _, err := charge(ctx, amount); return err })
			f.provider.register(r)
		})
		run := f.start(f.client, f.queue, "brood")
		<-entered
		require.NoError(t, f.client.SignalWorkflow(t.Context(), run.GetID(), "", "hurry", nil))
		close(signalled)
		// The reset comes while most of them have still not started.
		task := 0
		require.Eventually(t, func() bool {
			task, _ = aboutToStart(f.history(f.client, run))
			return task != 0
		}, 20*time.Second, time.Millisecond)
		again := f.reset(f.client, run, task)
		require.NoError(t, again.Get(t.Context(), nil))
		require.Len(t, f.made(), 40)
		started := 0
		for _, e := range f.history(f.client, again).GetEvents() {
			if a := e.GetChildWorkflowExecutionStartedEventAttributes(); a != nil {
				begun := f.history(f.client, f.client.GetWorkflow(t.Context(), a.GetWorkflowExecution().GetWorkflowId(), a.GetWorkflowExecution().GetRunId())).
					GetEvents()[0].GetWorkflowExecutionStartedEventAttributes()
				header, err := wire.Decode(begun.GetHeader().GetFields()[wire.HeaderKey])
				require.NoError(t, err)
				if begun.GetParentWorkflowExecution().GetRunId() == again.GetRunID() && header.RunID == run.GetRunID() {
					started++ // by the new run, with the header of the old one
				}
			}
		}
		require.NotZero(t, started)
	})
}

// aboutToStart returns the first workflow task at whose end children were
// initiated that had not started, and how many they were.
func aboutToStart(h *historypb.History) (task, children int) {
	n, initiated := 0, 0
	for _, e := range h.GetEvents() {
		switch e.GetEventType() {
		case enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
			initiated++
		case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED:
			initiated--
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
			if n++; initiated > 0 {
				return n, initiated
			}
		}
	}
	return 0, 0
}
