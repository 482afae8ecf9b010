package dedupe_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// paying is a row that answers something new each time it runs.
var paying = []row{{name: "Pay", body: func(context.Context, string) (string, error) { return uuid.NewString(), nil }}}

// payVia makes a workflow that pays, with the activity on a task queue.
func payVia(queue string) func(workflow.Context) error {
	return func(ctx workflow.Context) error {
		o := rowOptions
		o.ActivityID, o.TaskQueue = "Pay", queue
		return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, o), "Pay", "10").Get(ctx, nil)
	}
}

// requireReplayed asserts that the first answer was lost, that the second is
// equal to it, and that one body ran.
func requireReplayed(t *testing.T, wire *tap, id string) {
	t.Helper()
	answers := wire.answers(id)
	require.GreaterOrEqual(t, len(answers), 2)
	require.NotNil(t, answers[0].result)
	require.True(t, proto.Equal(answers[0].result, answers[1].result))
	require.Equal(t, 1, wire.runs(id))
}

func TestKindsOfActivities(t *testing.T) {
	t.Parallel()
	w := encrypted("encrypted", newKey)

	t.Run("an eager activity is replayed", func(t *testing.T) {
		t.Parallel()
		b, wire := setup(t), newTap()
		c := b.wired(w, wire, b.plugin())
		b.serve(c, b.queue, wire, paying, worker.Options{}, func(r worker.Registry) {
			r.RegisterWorkflowWithOptions(payVia(""), workflow.RegisterOptions{Name: "pay"})
		})
		require.NoError(t, b.start(c, b.queue, "pay").Get(t.Context(), nil))
		wire.mu.Lock()
		require.True(t, wire.eager["Pay"], "it came with the answer to the workflow task")
		wire.mu.Unlock()
		requireReplayed(t, wire, "Pay")
	})

	t.Run("a call without a header is replayed to the attempts of its scheduling", func(t *testing.T) {
		t.Parallel()
		b, wire := setup(t), newTap()
		flows, acts := b.wired(w, nil), b.wired(w, wire, b.plugin())
		b.work(flows, b.queue, func(r worker.Registry) {
			r.RegisterWorkflowWithOptions(payVia(b.queue+"-activities"), workflow.RegisterOptions{Name: "pay"})
		})
		b.serve(acts, b.queue+"-activities", wire, paying, worker.Options{}, func(worker.Registry) {})
		require.NoError(t, b.start(flows, b.queue, "pay").Get(t.Context(), nil))
		requireReplayed(t, wire, "Pay")
	})

	t.Run("a standalone activity is replayed", func(t *testing.T) {
		t.Parallel()
		b, wire := setup(t), newTap()
		c := b.wired(w, wire, b.plugin())
		b.serve(c, b.queue, wire, paying, worker.Options{}, func(worker.Registry) {})
		handle, err := c.ExecuteActivity(t.Context(), client.StartActivityOptions{
			ID: b.queue, TaskQueue: b.queue, StartToCloseTimeout: 3 * time.Second, RetryPolicy: rowOptions.RetryPolicy,
		}, "Pay", "10")
		require.NoError(t, err)
		var got string
		require.NoError(t, handle.Get(t.Context(), &got))
		requireReplayed(t, wire, b.queue)
		var first string
		require.NoError(t, w.data.FromPayloads(wire.answers(b.queue)[0].result, &first))
		require.Equal(t, first, got)
	})

	t.Run("a session works although every type has a policy, and its own activities have no records", func(t *testing.T) {
		t.Parallel()
		b, wire := setup(t), newTap()
		wire.keep = true
		// The SDK signals a session's creation without the client's codec, which a
		// codec that expects ciphertext would refuse.
		c := b.wired(wiring{}, wire, b.plugin())
		flow := func(ctx workflow.Context) error {
			ctx = workflow.WithActivityOptions(ctx, rowOptions)
			session, err := workflow.CreateSession(ctx, &workflow.SessionOptions{CreationTimeout: 10 * time.Second, ExecutionTimeout: 30 * time.Second})
			if err != nil {
				return err
			}
			defer workflow.CompleteSession(session)
			return workflow.ExecuteActivity(session, "Pay", "10").Get(session, nil)
		}
		b.serve(c, b.queue, wire, paying, worker.Options{EnableSessionWorker: true}, func(r worker.Registry) {
			r.RegisterWorkflowWithOptions(flow, workflow.RegisterOptions{Name: "flow"})
		})
		require.NoError(t, b.start(c, b.queue, "flow").Get(t.Context(), nil))
		key := "w/default/" + b.queue + "/0/"
		r, err := b.store.Get(t.Context(), key+"Pay/1")
		require.NoError(t, err)
		require.Equal(t, store.StatusCompleted, r.Status)
		for _, own := range []string{"internalSessionCreationActivity", "internalSessionCompletionActivity"} {
			_, err := b.store.Get(t.Context(), key+own+"/1")
			require.ErrorIs(t, err, store.ErrNotFound)
		}
	})

	t.Run("a result is read by a type that has gained a field", func(t *testing.T) {
		t.Parallel()
		type older struct{ Amount int }
		type newer struct {
			Amount  int
			Receipt *string
			Tags    map[string]string
		}
		b, wire := setup(t), newTap()
		wire.keep = true
		c := b.wired(w, wire, b.plugin())
		flow := func(ctx workflow.Context) (newer, error) {
			var got newer
			ctx = workflow.WithActivityOptions(ctx, rowOptions)
			err := workflow.ExecuteActivity(ctx, "Read").Get(ctx, &got)
			return got, err
		}
		register := func(r worker.Registry) { r.RegisterWorkflowWithOptions(flow, workflow.RegisterOptions{Name: "flow"}) }
		stop := b.serve(c, b.queue, wire, []row{{name: "Read", body: gives(older{7})}}, worker.Options{}, register)
		run := b.start(c, b.queue, "flow")
		require.NoError(t, run.Get(t.Context(), nil))
		stop()
		b.serve(c, b.queue, wire, []row{{name: "Read", body: gives(newer{Amount: 8})}}, worker.Options{}, register)
		scene := &scene{bundle: b, client: c}
		var got newer
		require.NoError(t, scene.resetRun(run).Get(t.Context(), &got))
		require.Equal(t, newer{Amount: 7}, got)
	})
}
