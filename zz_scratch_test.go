package dedupe_test

import (
	"testing"
	"time"
	"context"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

func TestScratch(t *testing.T) {
	for _, with := range []bool{false, true} {
		b := setup(t)
		c := b.client()
		if with { c = b.client(b.plugin()) }
		w := encrypted("x", newKey)
		flow := func(ctx workflow.Context) (string, error) {
			ctx = workflow.WithDataConverter(localOptions(ctx, time.Second), w.data)
			var s string
			err := workflow.ExecuteLocalActivity(ctx, "Pay", "10").Get(ctx, &s)
			return s, err
		}
		b.work(c, b.queue, func(r worker.Registry) {
			r.RegisterWorkflowWithOptions(flow, workflow.RegisterOptions{Name: "flow"})
			register(r, "Pay", func(context.Context, string) (string, error) { return "ok", nil })
		})
		err := b.start(c, b.queue, "flow").Get(t.Context(), nil)
		t.Log(with, err)
		_ = require.NoError
	}
}
