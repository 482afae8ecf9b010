package dedupe_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	dedupe "github.com/seed5aa7bdf6/temporal-dedupe"
)

// A new version of a workflow makes one more call before the others; what was
// done by the old version is met by the new one after a reset.
func TestChangedWorkflow(t *testing.T) {
	t.Parallel()

	// step makes one call of a type.
	step := func(ctx workflow.Context, activityType, amount string) error {
		return workflow.ExecuteActivity(options(ctx), activityType, amount).Get(ctx, nil)
	}
	for name, c := range map[string]struct {
		inserted, amount string
		mark             func(workflow.Context) workflow.Context
		want             []string
		conflicts        bool
	}{
		"a new call of another type before B leaves B its record": {
			inserted: "X", amount: "new", want: []string{"A 10", "B 20", "X new"},
		},
		"a new call of B's type conflicts, and gets nothing of B's": {
			inserted: "B", amount: "new", want: []string{"A 10", "B 20"}, conflicts: true,
		},
		"a new call of B's type with a step key leaves the others theirs, but takes a number": {
			inserted: "B", amount: "new", mark: func(ctx workflow.Context) workflow.Context { return dedupe.WithStepKey(ctx, "new") },
			want: []string{"A 10", "B 20", "B 20", "B new"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, p := setup(t), newProvider()
			client := b.client(b.plugin())
			serve := func(changed bool) func() {
				return b.work(client, b.queue, func(r worker.Registry) {
					registerWorkflow(r, "steps", func(ctx workflow.Context) error {
						if err := step(ctx, "A", "A 10"); err != nil {
							return err
						}
						if changed && workflow.GetVersion(ctx, "new", workflow.DefaultVersion, 1) == 1 {
							marked := ctx
							if c.mark != nil {
								marked = c.mark(ctx)
							}
							if err := step(marked, c.inserted, c.inserted+" "+c.amount); err != nil {
								return err
							}
						}
						return step(ctx, "B", "B 20")
					})
					for _, name := range []string{"A", "B", "X"} {
						register(r, name, p.Charge)
					}
				})
			}
			stop := serve(false)
			run := b.start(client, b.queue, "steps")
			require.NoError(t, run.Get(t.Context(), nil))
			stop()
			serve(true)
			err := b.reset(client, run, 1).Get(t.Context(), nil)
			require.Equal(t, c.want, p.made())
			if c.conflicts {
				requireErrType(t, err, dedupe.ErrTypeConflict)
				return
			}
			require.NoError(t, err)
		})
	}
}
