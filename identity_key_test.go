package dedupe_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	dedupe "github.com/seed5aa7bdf6/temporal-dedupe"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/wire"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// keyed is a store that notes the keys it is asked for.
type keyed struct {
	store.Store
	mu   sync.Mutex
	keys []string
}

func (k *keyed) Reserve(ctx context.Context, r []store.Reservation) ([]store.Found, error) {
	k.mu.Lock()
	for _, one := range r {
		k.keys = append(k.keys, one.Key)
	}
	k.mu.Unlock()
	return k.Store.Reserve(ctx, r)
}

// withBusinessKey makes one call under a business key.
func withBusinessKey(ctx workflow.Context, key, amount string) (string, error) {
	return charge(dedupe.WithBusinessKey(ctx, key), amount)
}

func TestEqualCalls(t *testing.T) {
	t.Parallel()
	for scope, policy := range scopes {
		t.Run("of two workflow IDs both run, under "+scope, func(t *testing.T) {
			t.Parallel()
			b, p := setup(t), newProvider()
			c := b.client(b.plugin(policy))
			b.work(c, b.queue, func(r worker.Registry) { r.RegisterWorkflow(chargeAll); p.register(r) })
			for _, id := range []string{"-1", "-2"} {
				var answers []string
				require.NoError(t, b.start(c, b.queue+id, chargeAll, []string{"10", "10"}).Get(t.Context(), &answers))
				require.Equal(t, []string{"charged 10", "charged 10"}, answers)
			}
			require.Len(t, p.made(), 4)
		})
	}

	t.Run("are one under a business key, in two workflows and within one run", func(t *testing.T) {
		t.Parallel()
		b, p := setup(t), newProvider()
		c := b.client(b.plugin())
		b.work(c, b.queue, func(r worker.Registry) {
			registerWorkflow(r, "pay", func(ctx workflow.Context) (string, error) {
				if _, err := withBusinessKey(ctx, b.queue, "10"); err != nil {
					return "", err
				}
				return withBusinessKey(ctx, b.queue, "10")
			})
			p.register(r)
		})
		for _, id := range []string{"-1", "-2"} {
			var answer string
			require.NoError(t, b.start(c, b.queue+id, "pay").Get(t.Context(), &answer))
			require.Equal(t, "charged 10", answer)
		}
		require.Equal(t, []string{"10"}, p.made())
	})
}

func TestLongKeys(t *testing.T) {
	t.Parallel()
	b, p := setup(t), newProvider()
	k := &keyed{Store: b.store}
	b.store = k
	c := b.client(b.plugin())
	b.work(c, b.queue, func(r worker.Registry) {
		registerWorkflow(r, "pay", func(ctx workflow.Context) error {
			for _, mark := range []func(workflow.Context) workflow.Context{
				func(ctx workflow.Context) workflow.Context { return ctx },
				func(ctx workflow.Context) workflow.Context {
					return dedupe.WithStepKey(ctx, strings.Repeat("é", 2000))
				},
				func(ctx workflow.Context) workflow.Context {
					return dedupe.WithBusinessKey(ctx, strings.Repeat("b", 4000))
				},
				func(ctx workflow.Context) workflow.Context {
					return dedupe.WithBusinessKey(ctx, strings.Repeat("b", 4001))
				},
			} {
				if _, err := charge(mark(ctx), "10"); err != nil {
					return err
				}
			}
			return nil
		})
		p.register(r)
	})
	id := b.queue + strings.Repeat("w", 1000-len(b.queue))
	run := b.start(c, id, "pay")
	require.NoError(t, run.Get(t.Context(), nil))
	require.NoError(t, b.reset(c, run, 1).Get(t.Context(), nil))
	require.Len(t, p.made(), 4)
	require.Len(t, k.keys, 8)
	require.Equal(t, k.keys[:4], k.keys[4:], "the keys after a reset are those from before")
	seen := map[string]bool{}
	for _, key := range k.keys[:4] {
		require.LessOrEqual(t, len(key), store.MaxKeyBytes)
		require.False(t, seen[key])
		seen[key] = true
	}
}

// The test environments have no server, no original run, and IDs of any form.
func TestInTestEnvironments(t *testing.T) {
	t.Parallel()

	wired := func(t *testing.T, s store.Store) worker.Options {
		i, err := dedupe.NewInterceptor(dedupe.Options{Store: s, Policies: dedupe.Policies{dedupe.AnyActivity: {Scope: dedupe.ScopeExecution}}})
		require.NoError(t, err)
		return worker.Options{Interceptors: []interceptor.WorkerInterceptor{i}}
	}

	t.Run("a workflow is deduplicated whatever its ID looks like", func(t *testing.T) {
		t.Parallel()
		b, p := setup(t), newProvider()
		for range 2 {
			var suite testsuite.WorkflowTestSuite
			suite.SetLogger(quiet)
			env := suite.NewTestWorkflowEnvironment()
			env.SetWorkerOptions(wired(t, b.store))
			env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: "an order / 100% ~ ü"})
			env.RegisterActivityWithOptions(p.Charge, sdkactivity.RegisterOptions{Name: "Charge"})
			env.ExecuteWorkflow(chargeAll, []string{"10", "10"})
			require.NoError(t, env.GetWorkflowError())
		}
		require.Len(t, p.made(), 2, "the second environment has the same run ID")
		b.requireCompleted("e/default-test-namespace/an%20order%20%2F%20100%25%20%7E%20%C3%BC/default-test-run-id/Charge/2")
	})

	t.Run("an activity too, with the header of any workflow side", func(t *testing.T) {
		t.Parallel()
		b, p := setup(t), newProvider()
		for range 2 {
			var suite testsuite.WorkflowTestSuite
			suite.SetLogger(quiet)
			suite.SetHeader(&commonpb.Header{Fields: fields{wire.HeaderKey: plain(
				`{"v":1,"to":"activity","workflow_id":"default-test-workflow-id","run_id":"not a UUID","lineage":"neither","chain":0,"n":1}`)}})
			env := suite.NewTestActivityEnvironment()
			env.SetWorkerOptions(wired(t, b.store))
			env.RegisterActivityWithOptions(p.Charge, sdkactivity.RegisterOptions{Name: "Charge"})
			got, err := env.ExecuteActivity("Charge", "10")
			require.NoError(t, err)
			var answer string
			require.NoError(t, got.Get(&answer))
			require.Equal(t, "charged 10", answer)
		}
		require.Len(t, p.made(), 1)
		b.requireCompleted("e/default-test-namespace/default-test-workflow-id/not%20a%20UUID/Charge/1")
	})
}
