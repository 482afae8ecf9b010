package dedupe_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"

	dedupe "github.com/seed5aa7bdf6/temporal-dedupe"
)

// localRows are the rows that a local activity can have.
func localRows() []row {
	var rows []row
	for _, r := range append(results(), failures()...) {
		if !r.dynamic && r.name != "oversize" {
			rows = append(rows, r)
		}
	}
	return rows
}

// callLocally makes a workflow that calls all rows as local activities and then
// fails its task once, so that all of them are called again: their markers are
// lost with the task.
func callLocally(queue string, rows []row) func(workflow.Context) error {
	var failed atomic.Bool
	return func(ctx workflow.Context) error {
		for _, r := range rows {
			ctx := dedupe.WithBusinessKey(workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
				ScheduleToCloseTimeout: 10 * time.Second, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
			}), queue+r.name)
			_ = workflow.ExecuteLocalActivity(ctx, r.name, r.args...).Get(ctx, nil) // the history tells
		}
		if failed.CompareAndSwap(false, true) {
			panic("the workflow task fails once")
		}
		return nil
	}
}

func TestReplayOfLocalActivities(t *testing.T) {
	t.Parallel()
	for _, w := range []wiring{{name: "in the clear"}, encrypted("encrypted", newKey)} {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			rows := localRows()
			markers := func(b *bundle, wire *tap, plugins ...client.Plugin) []told {
				c := b.wired(w, wire, plugins...)
				b.serve(c, b.queue, wire, rows, worker.Options{}, func(r worker.Registry) {
					r.RegisterWorkflowWithOptions(callLocally(b.queue, rows), workflow.RegisterOptions{Name: "locally"})
				})
				run := b.start(c, b.queue, "locally")
				require.NoError(t, run.Get(t.Context(), nil))
				_, markers := recorded(b.history(c, run))
				require.Len(t, markers, len(rows))
				return markers
			}
			b, wire := setup(t), newTap()
			got := markers(b, wire, b.pluginWith(dedupe.Options{}))
			for i := range rows {
				if strings.Contains(rows[i].name, "UTF-8") && rows[i].hangs {
					rows[i].body = gives("a native workflow task with this failure could never be answered")
				}
			}
			reference := markers(setup(t), newTap())
			for i, r := range rows {
				t.Run(r.name, func(t *testing.T) {
					if got[i].failure != nil {
						require.GreaterOrEqual(t, wire.runs(r.name), 2, "failures of local activities are not replayed")
						if !strings.Contains(r.name, "message that is no UTF-8") {
							requireSame(t, w, reference[i], got[i], "without the plugin, and with it")
						}
						return
					}
					requireSame(t, w, reference[i], got[i], "without the plugin, and the replay")
					require.Equal(t, 1, wire.runs(r.name))
					name := strings.ReplaceAll(r.name, " ", "%20")
					record, err := b.store.Get(t.Context(), fmt.Sprintf("b/default/%s/%s%s", name, b.queue, name))
					require.NoError(t, err)
					if got[i].result == nil {
						require.Nil(t, record.Result)
						return
					}
					var first commonpb.Payloads
					require.NoError(t, proto.Unmarshal(record.Result, &first))
					require.True(t, proto.Equal(&first, got[i].result), "the first run's bytes")
				})
			}
		})
	}
}

// localOptions retry within the workflow task where the pause is short, and by a
// timer where it is long.
func localOptions(ctx workflow.Context, pause time.Duration) workflow.Context {
	return workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		ScheduleToCloseTimeout: 20 * time.Second,
		RetryPolicy:            &temporal.RetryPolicy{InitialInterval: pause, MaximumAttempts: 5},
	})
}

func TestLocalActivities(t *testing.T) {
	t.Parallel()

	for name, pause := range map[string]time.Duration{"within the task": 20 * time.Millisecond, "by a timer": 1500 * time.Millisecond} {
		t.Run("a call that is retried "+name+" stays one call, and is replayed", func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			c := b.client(b.plugin())
			var runs, tasks atomic.Int32
			flow := func(ctx workflow.Context) ([]string, error) {
				ctx = localOptions(ctx, pause)
				var got []string
				for range 2 { // equal arguments: two calls
					var s string
					if err := workflow.ExecuteLocalActivity(ctx, "Pay", "10").Get(ctx, &s); err != nil {
						return nil, err
					}
					got = append(got, s)
				}
				if tasks.Add(1) == 1 {
					panic("the workflow task fails once")
				}
				return got, nil
			}
			b.work(c, b.queue, func(r worker.Registry) {
				r.RegisterWorkflowWithOptions(flow, workflow.RegisterOptions{Name: "flow"})
				register(r, "Pay", func(context.Context, string) (string, error) {
					n := runs.Add(1)
					if n == 1 {
						return "", errors.New("not yet")
					}
					return fmt.Sprint("run ", n), nil
				})
			})
			run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
				ID: b.queue, TaskQueue: b.queue, WorkflowTaskTimeout: time.Second, WorkflowExecutionTimeout: time.Minute,
			}, "flow")
			require.NoError(t, err)
			var got []string
			require.NoError(t, run.Get(t.Context(), &got))
			require.Equal(t, []string{"run 2", "run 3"}, got)
			require.EqualValues(t, 3, runs.Load())
		})
	}

	t.Run("a body that changes its argument in place is retried", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		c := b.client(b.plugin())
		var runs atomic.Int32
		b.work(c, b.queue, func(r worker.Registry) {
			registerWorkflow(r, "flow", func(ctx workflow.Context) (got string, err error) {
				err = workflow.ExecuteLocalActivity(localOptions(ctx, 20*time.Millisecond), "Pay", []string{"b", "a"}).Get(ctx, &got)
				return got, err
			})
			register(r, "Pay", func(_ context.Context, items []string) (string, error) {
				slices.Sort(items)
				if runs.Add(1) == 1 {
					return "", errors.New("not yet")
				}
				return fmt.Sprint("paid ", items), nil
			})
		})
		var got string
		require.NoError(t, b.start(c, b.queue, "flow").Get(t.Context(), &got))
		require.Equal(t, "paid [a b]", got)
	})

	t.Run("a business key is one call, made locally or not", func(t *testing.T) {
		t.Parallel()
		b, p := setup(t), newProvider()
		c := b.client(b.plugin())
		b.work(c, b.queue, func(r worker.Registry) {
			registerWorkflow(r, "flow", func(ctx workflow.Context, local bool) (got string, err error) {
				ctx = dedupe.WithBusinessKey(localOptions(options(ctx), 20*time.Millisecond), "invoice "+b.queue)
				f := workflow.ExecuteActivity
				if local {
					f = workflow.ExecuteLocalActivity
				}
				err = f(ctx, "Charge", "10").Get(ctx, &got)
				return got, err
			})
			p.register(r)
		})
		for i, local := range []bool{true, false, true} {
			var got string
			require.NoError(t, b.start(c, fmt.Sprint(b.queue, i), "flow", local).Get(t.Context(), &got))
			require.Equal(t, "charged 10", got)
		}
		require.Equal(t, []string{"10"}, p.made())
	})

	t.Run("a call whose number meets other arguments after a failed task never gets the other call's result", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		c := b.client(b.plugin())
		var mu atomic.Int32
		ran := make(chan string, 10)
		flow := func(ctx workflow.Context) ([]string, error) {
			ctx = localOptions(ctx, 20*time.Millisecond)
			amounts := []string{"main"}
			var signal string
			signalled := workflow.GetSignalChannel(ctx, "also").ReceiveAsync(&signal)
			if signalled {
				amounts = []string{signal, "main"}
			}
			var got []string
			for _, amount := range amounts {
				var s string
				if err := workflow.ExecuteLocalActivity(ctx, "Pay", amount).Get(ctx, &s); err != nil {
					return nil, err
				}
				got = append(got, s)
			}
			if !signalled {
				mu.Add(1)
				panic("the workflow task fails until the signal comes")
			}
			return got, nil
		}
		b.work(c, b.queue, func(r worker.Registry) {
			r.RegisterWorkflowWithOptions(flow, workflow.RegisterOptions{Name: "flow"})
			register(r, "Pay", func(_ context.Context, amount string) (string, error) {
				ran <- amount
				return "paid " + amount, nil
			})
		})
		run := b.start(c, b.queue, "flow")
		require.Equal(t, "main", <-ran)
		require.NoError(t, c.SignalWorkflow(t.Context(), run.GetID(), "", "also", "signalled"))
		var got []string
		require.NoError(t, run.Get(t.Context(), &got))
		require.Equal(t, []string{"paid signalled", "paid main"}, got)
		require.Equal(t, "signalled", <-ran)
		require.Empty(t, ran, "each of the two ran once")
		require.Positive(t, mu.Load())
		failedTask := false
		for _, e := range b.history(c, run).GetEvents() {
			failedTask = failedTask || e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED
		}
		require.True(t, failedTask)
	})
}
