package dedupe_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"

	dedupe "github.com/seed5aa7bdf6/temporal-dedupe"
)

// payOnce is a workflow whose call has one business key, and whose attempts come
// often and do not run out.
func payOnce(businessKey string) func(workflow.Context, string) error {
	return func(ctx workflow.Context, id string) error {
		ctx = dedupe.WithBusinessKey(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			ActivityID: id, StartToCloseTimeout: 10 * time.Second,
			RetryPolicy: &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 1},
		}), businessKey)
		return workflow.ExecuteActivity(ctx, "Pay", "10").Get(ctx, nil)
	}
}

// crew are the workers of one deployment after the other, on one task queue.
type crew struct {
	*bundle
	wire *tap
}

func newCrew(t *testing.T) *crew {
	t.Helper()
	c := &crew{setup(t), newTap()}
	c.wire.keep = true
	return c
}

// deploy starts a worker and returns the function that calls, and the one that
// stops the worker.
func (c *crew) deploy(w wiring, o dedupe.Options) (call func(id string) error, stop func()) {
	client := c.wired(w, c.wire, c.pluginWith(o))
	stop = c.serve(client, c.queue, c.wire, paying, worker.Options{}, func(r worker.Registry) {
		r.RegisterWorkflowWithOptions(payOnce(c.queue), workflow.RegisterOptions{Name: "pay"})
	})
	return func(id string) error {
		return c.start(client, c.queue+id, "pay", id).Get(c.t.Context(), nil)
	}, stop
}

func (c *crew) requireOneAnswer(ids ...string) {
	c.t.Helper()
	first := c.wire.answers(ids[0])
	ran := 0
	for _, id := range ids {
		answers := c.wire.answers(id)
		require.True(c.t, proto.Equal(first[len(first)-1].result, answers[len(answers)-1].result), id)
		require.NotNil(c.t, answers[len(answers)-1].result)
		ran += c.wire.runs(id)
	}
	require.Equal(c.t, 1, ran)
}

func TestRotationOfEncryptionKeys(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	call, stop := c.deploy(encrypted("old", oldKey), dedupe.Options{})
	require.NoError(t, call("first"))
	stop()
	call, _ = c.deploy(encrypted("new", newKey, oldKey), dedupe.Options{})
	require.NoError(t, call("second"))
	c.requireOneAnswer("first", "second")
	sealed := c.wire.answers("second")[0].result.GetPayloads()[0]
	require.Equal(t, oldKey.id, string(sealed.GetMetadata()["key"]), "the bytes are the old ones")
}

func TestRotationOfFingerprintSecrets(t *testing.T) {
	t.Parallel()
	older := dedupe.Secret{ID: "2025", Key: []byte("0123456789abcdef")}
	newer := dedupe.Secret{ID: "2026", Key: []byte("fedcba9876543210")}
	w := encrypted("encrypted", newKey)

	t.Run("what the old workers recorded is replayed by the new, also from before there were secrets", func(t *testing.T) {
		t.Parallel()
		c := newCrew(t)
		var ids []string
		for id, secrets := range [][]dedupe.Secret{nil, {older}, {older, newer}, {newer, older}, {newer}} {
			ids = append(ids, string(rune('a'+id)))
			call, stop := c.deploy(w, dedupe.Options{FingerprintSecrets: secrets})
			require.NoError(t, call(ids[id]))
			stop()
		}
		c.requireOneAnswer(ids...)
	})

	t.Run("what the new workers recorded waits for them at the old, and is no conflict", func(t *testing.T) {
		t.Parallel()
		c := newCrew(t)
		call, stop := c.deploy(w, dedupe.Options{FingerprintSecrets: []dedupe.Secret{newer, older}})
		require.NoError(t, call("first"))
		stop()

		call, stop = c.deploy(w, dedupe.Options{FingerprintSecrets: []dedupe.Secret{older}})
		done := make(chan error, 1)
		go func() { done <- call("second") }()
		require.Eventually(t, func() bool { return len(c.wire.answers("second")) > 0 }, 20*time.Second, 20*time.Millisecond)
		refusal := w.plain(t, c.wire.answers("second")[0]).failure
		require.Equal(t, dedupe.ErrTypeFingerprintUnknown, refusal.GetApplicationFailureInfo().GetType())
		require.False(t, refusal.GetApplicationFailureInfo().GetNonRetryable())
		require.Contains(t, string(refusal.GetEncodedAttributes().GetData()), `secret \"2026\", which is not among`)
		stop()

		_, _ = c.deploy(w, dedupe.Options{FingerprintSecrets: []dedupe.Secret{newer, older}})
		require.NoError(t, <-done)
		c.requireOneAnswer("first", "second")
	})
}

// card has content that JSON does not see.
type card struct{ number string }

func (c card) MarshalText() ([]byte, error)               { return []byte("****"), nil }
func (c *card) UnmarshalText([]byte) error                { c.number = uuid.NewString(); return nil }
func (c card) DedupeFingerprint() ([]byte, error)         { return []byte("the card of the test"), nil }
func payByCard(_ context.Context, c card) (string, error) { return uuid.NewString() + c.number, nil }

var _ dedupe.Fingerprinter = card{}

func TestFingerprintOfAType(t *testing.T) {
	t.Parallel()
	b, wire := setup(t), newTap()
	c := b.wired(wiring{}, wire, b.plugin())
	flow := func(ctx workflow.Context) error {
		o := rowOptions
		o.ActivityID = "Pay"
		return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, o), "Pay", card{"4711"}).Get(ctx, nil)
	}
	b.serve(c, b.queue, wire, []row{{name: "Pay", body: payByCard}}, worker.Options{}, func(r worker.Registry) {
		r.RegisterWorkflowWithOptions(flow, workflow.RegisterOptions{Name: "flow"})
	})
	run := b.start(c, b.queue, "flow")
	require.NoError(t, run.Get(t.Context(), nil))
	requireReplayed(t, wire, "Pay")
	// Another scheduling, whose argument decodes to other content.
	scene := &scene{bundle: b, client: c}
	require.NoError(t, scene.resetRun(run).Get(t.Context(), nil))
	require.Equal(t, 1, wire.runs("Pay"))
}
