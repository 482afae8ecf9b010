package workflows_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/wire"
	"github.com/seed5aa7bdf6/temporal-dedupe/workflows"
)

func numbers(facts []wire.Facts) []int {
	out := []int{}
	for _, f := range facts {
		out = append(out, f.Number)
	}
	return out
}

func names(facts []wire.Facts) []string {
	out := []string{}
	for _, f := range facts {
		out = append(out, f.CallName())
	}
	return out
}

func TestActivity(t *testing.T) {
	t.Parallel()

	t.Run("SaysWhichCallOfWhichRunItIs", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.requireRun(t, func(ctx workflow.Context) error { return call(ctx, "Charge", 1) })
		zero := 0
		require.Equal(t, []wire.Facts{{
			Version: wire.Version, To: wire.ToActivity, WorkflowID: "default-test-workflow-id", RunID: "default-test-run-id",
			Lineage: "default-test-run-id", OriginalRunID: "default-test-run-id", Execution: "default-test-run-id",
			Chain: &zero, Number: 1,
		}}, b.facts("Charge"))
	})

	t.Run("IsCountedPerType", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.requireRun(t, func(ctx workflow.Context) error {
			return inOrder(call(ctx, "Charge", 1), call(ctx, "Ship", 1), call(ctx, "Charge", 1), call(ctx, "Ship", 2))
		})
		require.Equal(t, []int{1, 2}, numbers(b.facts("Charge")))
		require.Equal(t, []int{1, 2}, numbers(b.facts("Ship")))
	})

	t.Run("TakesANumberHoweverItIsMarked", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.requireRun(t, func(ctx workflow.Context) error {
			return inOrder(
				call(workflows.WithoutDedupe(ctx), "Charge", 1),
				call(workflows.WithStepKey(ctx, "deposit"), "Charge", 1),
				call(workflows.WithNumberByArguments(ctx), "Charge", 1),
				call(workflows.WithBusinessKey(ctx, "invoice-7"), "Charge", 1),
				call(ctx, "Charge", 1),
			)
		})
		require.Equal(t, 5, b.facts("Charge")[4].Number)
	})

	t.Run("TakesANumberEvenIfItIsRefused", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.requireRun(t, func(ctx workflow.Context) error {
			// No timeout is set, so the SDK refuses the call.
			if err := workflow.ExecuteActivity(ctx, "Charge", 1).Get(ctx, nil); err == nil {
				return workflow.ErrCanceled
			}
			return call(ctx, "Charge", 1)
		})
		require.Equal(t, []int{2}, numbers(b.facts("Charge")))
	})

	t.Run("IsTheSameInEveryBranchOfParallelCalls", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.requireRun(t, func(ctx workflow.Context) error {
			wg := workflow.NewWaitGroup(ctx)
			for i := range 10 {
				wg.Add(1)
				workflow.Go(ctx, func(ctx workflow.Context) {
					defer wg.Done()
					_ = call(ctx, "Charge", float64(i))
				})
			}
			wg.Wait(ctx)
			return nil
		})
		for i := range 10 {
			require.Equal(t, i+1, b.byArg(t, float64(i)).Number)
		}
	})

	t.Run("IsNotCountedWhereItBelongsToASession", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.requireRun(t, func(ctx workflow.Context) error {
			session, err := workflow.CreateSession(withTimeouts(ctx), &workflow.SessionOptions{CreationTimeout: 60e9, ExecutionTimeout: 60e9})
			if err != nil {
				return err
			}
			defer workflow.CompleteSession(session)
			return call(session, "Charge", 1)
		})
		require.Equal(t, []int{1}, numbers(b.facts("Charge")))
		framework := 0
		for _, s := range b.recorder.all() {
			if s.activityType != "Charge" {
				framework++
				require.False(t, s.present, s.activityType)
			}
		}
		require.NotZero(t, framework)
	})
}

func TestMarkedActivity(t *testing.T) {
	t.Parallel()

	t.Run("CountsTheUsesOfAStep", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.requireRun(t, func(ctx workflow.Context) error {
			deposit, withdraw := workflows.WithStepKey(ctx, "deposit"), workflows.WithStepKey(ctx, "withdraw")
			return inOrder(call(deposit, "Charge", 1), call(withdraw, "Charge", 1), call(deposit, "Charge", 2), call(deposit, "Ship", 1))
		})
		require.Equal(t, []string{"step:1:deposit", "step:1:withdraw", "step:2:deposit"}, names(b.facts("Charge")))
		require.Equal(t, []string{"step:1:deposit"}, names(b.facts("Ship")))
	})

	t.Run("CountsCallsWithEqualArguments", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.requireRun(t, func(ctx workflow.Context) error {
			ctx = workflows.WithNumberByArguments(ctx)
			return inOrder(call(ctx, "Charge", map[string]int{"a": 1, "b": 2}), call(ctx, "Charge", 1),
				call(ctx, "Charge", map[string]int{"b": 2, "a": 1}), call(ctx, "Ship", 1))
		})
		f := b.facts("Charge")
		require.Equal(t, []int{1, 1, 2}, numbers(f))
		require.Equal(t, f[0].Arguments, f[2].Arguments)
		require.NotEqual(t, f[0].Arguments, f[1].Arguments)
		require.NotEqual(t, f[1].Arguments, b.facts("Ship")[0].Arguments)
		// It stands in keys: of another form, every such call would be new.
		require.Equal(t, "5cd2a9e40f3a871fac685d0243a2e8ce4d8cd8b8229d72017138c883af6f701d", f[0].Arguments)
		require.Equal(t, "3c641193b1e4dea3c43a8e2413567172d680fff7e5f5efa6b13e1d7d35704c82", f[1].Arguments)
	})

	t.Run("CountsBothTogether", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.requireRun(t, func(ctx workflow.Context) error {
			ctx = workflows.WithStepKey(workflows.WithNumberByArguments(ctx), "deposit")
			return inOrder(call(ctx, "Charge", 1), call(ctx, "Charge", 2), call(ctx, "Charge", 1))
		})
		require.Equal(t, []int{1, 1, 2}, numbers(b.facts("Charge")))
		require.Equal(t, "deposit", b.facts("Charge")[0].Step)
	})

	t.Run("CarriesABusinessKeyAlone", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.requireRun(t, func(ctx workflow.Context) error {
			ctx = workflows.WithBusinessKey(workflows.WithStepKey(workflows.WithNumberByArguments(ctx), "deposit"), "invoice-7")
			return call(ctx, "Charge", 1)
		})
		f := b.facts("Charge")[0]
		require.Equal(t, "invoice-7", f.BusinessKey)
		require.Empty(t, f.Step)
		require.Empty(t, f.Arguments)
	})

	t.Run("IsExemptWhateverElseWasSaid", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.requireRun(t, func(ctx workflow.Context) error {
			ctx = workflows.WithoutDedupe(workflows.WithBusinessKey(ctx, "invoice-7"))
			return inOrder(call(ctx, "Charge", 1), callLocal(ctx, "Ship", struct{ a int }{1}))
		})
		require.True(t, b.facts("Charge")[0].Exempt)
		require.True(t, b.facts("Ship")[0].Exempt)
		require.Empty(t, b.facts("Ship")[0].Uncountable)
	})

	t.Run("SaysWhyItCannotBeCounted", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.requireRun(t, func(ctx workflow.Context) error {
			return call(workflows.WithNumberByArguments(ctx), "Charge", struct{ A, b int }{1, 2})
		})
		f := b.facts("Charge")[0]
		require.Contains(t, f.Uncountable, "does not see this field")
		require.False(t, f.Exempt)
		require.Zero(t, f.Number)
	})

	t.Run("LeavesTheContextItCameFromAlone", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.requireRun(t, func(ctx workflow.Context) error {
			workflows.WithoutDedupe(workflows.WithStepKey(ctx, "deposit"))
			return call(ctx, "Charge", 1)
		})
		require.Equal(t, "1", b.facts("Charge")[0].CallName())
		require.False(t, b.facts("Charge")[0].Exempt)
	})
}

func TestLocalActivity(t *testing.T) {
	t.Parallel()

	t.Run("IsCountedByItsArguments", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.requireRun(t, func(ctx workflow.Context) error {
			return inOrder(callLocal(ctx, "Charge", "a"), callLocal(ctx, "Charge", "b"), callLocal(ctx, "Charge", "a"))
		})
		f := b.facts("Charge")
		require.Equal(t, []int{1, 1, 2}, numbers(f))
		require.Equal(t, f[0].Arguments, f[2].Arguments)
		require.NotEqual(t, f[0].Arguments, f[1].Arguments)
	})

	t.Run("IsCountedApartFromRegularOnes", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.requireRun(t, func(ctx workflow.Context) error {
			return inOrder(callLocal(ctx, "Charge", "a"), call(workflows.WithNumberByArguments(ctx), "Charge", "a"), call(ctx, "Charge", "b"))
		})
		require.Equal(t, []int{1, 1, 2}, numbers(b.facts("Charge")))
	})

	t.Run("IsCountedByStepAndArguments", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.requireRun(t, func(ctx workflow.Context) error {
			ctx = workflows.WithStepKey(ctx, "deposit")
			return inOrder(callLocal(ctx, "Charge", "a"), callLocal(ctx, "Charge", "b"))
		})
		require.Equal(t, []int{1, 1}, numbers(b.facts("Charge")))
		require.Equal(t, "deposit", b.facts("Charge")[0].Step)
	})

	t.Run("IsExemptWhereItCannotBeCounted", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.requireRun(t, func(ctx workflow.Context) error { return callLocal(ctx, "Charge", &struct{ a int }{1}) })
		f := b.facts("Charge")[0]
		require.True(t, f.Exempt)
		require.Contains(t, f.Uncountable, "JSON sees none of the fields")
	})

	t.Run("CarriesABusinessKeyWhateverItsArguments", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.requireRun(t, func(ctx workflow.Context) error {
			return callLocal(workflows.WithBusinessKey(ctx, "invoice-7"), "Charge", &struct{ a int }{1})
		})
		require.Equal(t, "invoice-7", b.facts("Charge")[0].BusinessKey)
		require.False(t, b.facts("Charge")[0].Exempt)
	})
}
