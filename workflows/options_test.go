package workflows_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/wire"
	"github.com/seed5aa7bdf6/temporal-dedupe/workflows"
)

func TestNamesThatCannotStand(t *testing.T) {
	t.Parallel()
	for function, with := range map[string]func(workflow.Context, string) workflow.Context{
		"WithStepKey": workflows.WithStepKey, "WithBusinessKey": workflows.WithBusinessKey,
	} {
		for problem, name := range map[string]string{
			"is empty":           "",
			"is not valid UTF-8": "a\xff",
			"has 8193 bytes":     strings.Repeat("x", wire.MaxTextBytes+1),
		} {
			t.Run(function+"/"+problem, func(t *testing.T) {
				t.Parallel()
				b := setup(t)
				b.run(func(ctx workflow.Context) error { return call(with(ctx, name), "Charge", 1) })
				require.ErrorContains(t, b.GetWorkflowError(), "dedupe: "+function+": the key "+problem)
				require.Empty(t, b.facts("Charge"))
			})
		}
		t.Run(function+"/LongestName", func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.requireRun(t, func(ctx workflow.Context) error {
				return call(with(ctx, strings.Repeat("\x01", wire.MaxTextBytes)), "Charge", 1)
			})
			require.Len(t, b.facts("Charge"), 1)
		})
	}
}
