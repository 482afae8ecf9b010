package workflows_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/wire"
	"github.com/seed5aa7bdf6/temporal-dedupe/workflows"
)

// meddler is a user's interceptor that does something to outgoing calls.
type meddler struct {
	interceptor.WorkerInterceptorBase
	before  func(ctx workflow.Context, activityType string)
	answers int // how many calls it does not pass on
	// again is called before it goes on a second time with the same call.
	again func(ctx workflow.Context, first workflow.Future)
}

func (m *meddler) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	i := &meddlerInbound{meddler: *m}
	i.Next = next
	return i
}

type meddlerInbound struct {
	interceptor.WorkflowInboundInterceptorBase
	meddler meddler
}

func (m *meddlerInbound) Init(next interceptor.WorkflowOutboundInterceptor) error {
	o := &meddlerOutbound{meddler: m.meddler}
	o.Next = next
	return m.Next.Init(o)
}

type meddlerOutbound struct {
	interceptor.WorkflowOutboundInterceptorBase
	meddler meddler
}

func (m *meddlerOutbound) ExecuteActivity(ctx workflow.Context, activityType string, args ...any) workflow.Future {
	m.meddler.before(ctx, activityType)
	if m.meddler.answers > 0 {
		m.meddler.answers--
		future, settable := workflow.NewFuture(ctx)
		settable.SetValue(nil)
		return future
	}
	future := m.Next.ExecuteActivity(ctx, activityType, args...)
	if m.meddler.again != nil {
		m.meddler.again(ctx, future)
		return m.Next.ExecuteActivity(ctx, activityType, args...)
	}
	return future
}

func (m *meddlerOutbound) ExecuteChildWorkflow(ctx workflow.Context, childType string, args ...any) workflow.ChildWorkflowFuture {
	m.meddler.before(ctx, childType)
	return m.Next.ExecuteChildWorkflow(ctx, childType, args...)
}

// forward puts the first header that it sees on every call.
func forward() *meddler {
	var first *commonpb.Payload
	return &meddler{before: func(ctx workflow.Context, _ string) {
		header := interceptor.WorkflowHeader(ctx)
		if first == nil {
			first = header[wire.HeaderKey]
		}
		if first != nil {
			header[wire.HeaderKey] = first
		}
	}}
}

func twice(ctx workflow.Context) error {
	return inOrder(call(ctx, "Charge", 1), call(ctx, "Charge", 2), callLocal(ctx, "Charge", 1), call(ctx, "Charge", 3))
}

func TestInterceptorRegisteredTwice(t *testing.T) {
	t.Parallel()
	ours := workflows.NewInterceptor

	for name, chain := range map[string][]interceptor.WorkerInterceptor{
		"Once":                    {ours()},
		"Twice":                   {ours(), ours()},
		"ThreeTimes":              {ours(), ours(), ours()},
		"TheSameOne":              {},
		"AroundAForwarder":        {ours(), forward(), ours()},
		"InsideAForwarder":        {ours(), ours(), forward()},
		"AroundOneThatDropsAll":   {ours(), drop(), ours()},
		"WithANoiseOfOwnHeaders":  {ours(), noise(), ours()},
		"OnceWithForeignContents": {ours(), noise()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if len(chain) == 0 {
				same := ours()
				chain = []interceptor.WorkerInterceptor{same, same}
			}
			b := setup(t, chain...)
			b.requireRun(t, twice)
			require.Equal(t, []int{1, 2, 1, 3}, numbers(b.facts("Charge")))
		})
	}

	t.Run("AroundOneThatMakesCallsOfItsOwn", func(t *testing.T) {
		t.Parallel()
		audit := &meddler{before: func(ctx workflow.Context, activityType string) {
			if activityType == "Charge" {
				// With the context of the call that it comes before.
				require.NoError(t, call(ctx, "Ship", 1))
			}
		}}
		b := setup(t, ours(), audit, ours())
		b.requireRun(t, twice)
		require.Equal(t, []int{1, 2, 1, 3}, numbers(b.facts("Charge")))
		require.Equal(t, []int{1, 2, 3}, numbers(b.facts("Ship")))
	})

	t.Run("AroundOneThatAnswersSomeCallsItself", func(t *testing.T) {
		t.Parallel()
		// The inner one misses a call, so only the outer one counts right.
		b := setup(t, ours(), &meddler{before: func(workflow.Context, string) {}, answers: 1}, ours())
		b.requireRun(t, twice)
		require.Equal(t, []int{2, 1, 3}, numbers(b.facts("Charge")))
	})

	t.Run("LogsOnce", func(t *testing.T) {
		t.Parallel()
		b := setup(t, ours(), ours())
		b.SetContinuedExecutionRunID("run-0")
		b.requireRun(t, twice)
		require.Len(t, b.logs.all(), 1)
	})
}

func drop() *meddler {
	return &meddler{before: func(ctx workflow.Context, _ string) { clear(interceptor.WorkflowHeader(ctx)) }}
}

// noise writes a header of another kind where there is none yet, as an
// interceptor does that copies what the workflow was started with.
func noise() *meddler {
	return &meddler{before: func(ctx workflow.Context, _ string) {
		header := interceptor.WorkflowHeader(ctx)
		if header[wire.HeaderKey] == nil {
			header[wire.HeaderKey] = wire.Encode(wire.Facts{To: wire.ToContinuation, WorkflowID: "w", RunID: "r"})
		}
	}}
}

// What an interceptor makes of a call in one workflow task has one header, whose last
// state both would be sent with.
func TestInterceptorThatGoesOnMoreThanOnce(t *testing.T) {
	t.Parallel()
	ours := workflows.NewInterceptor
	before := func(workflow.Context, string) {}

	for name, chain := range map[string]func(again func(workflow.Context, workflow.Future)) []interceptor.WorkerInterceptor{
		"OutsideOfOurs": func(again func(workflow.Context, workflow.Future)) []interceptor.WorkerInterceptor {
			return []interceptor.WorkerInterceptor{ours(), &meddler{before: before, again: again}}
		},
		"BetweenTwins": func(again func(workflow.Context, workflow.Future)) []interceptor.WorkerInterceptor {
			return []interceptor.WorkerInterceptor{ours(), &meddler{before: before, again: again}, ours()}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var first workflow.Future
			b := setup(t, chain(func(_ workflow.Context, call workflow.Future) { first = call })...)
			b.requireRun(t, func(ctx workflow.Context) error {
				if err := call(ctx, "Charge", 1); err != nil {
					return err
				}
				return first.Get(ctx, nil)
			})
			require.Equal(t, []int{0, 0}, numbers(b.facts("Charge")), "neither has a header")
			require.Len(t, b.logs.all(), 1)
		})
	}

	t.Run("InALaterTaskItIsACallOfItsOwn", func(t *testing.T) {
		t.Parallel()
		var b *bundle
		tries := 0
		b = setup(t, ours(), &meddler{before: before, again: func(ctx workflow.Context, first workflow.Future) {
			_ = first.Get(ctx, nil)
			tries++
			b.SetCurrentHistoryLength(10 * tries)
		}})
		b.requireRun(t, func(ctx workflow.Context) error { return inOrder(call(ctx, "Charge", 1), call(ctx, "Charge", 2)) })
		require.Equal(t, []int{1, 2, 3, 4}, numbers(b.facts("Charge")))
		require.Empty(t, b.logs.all())
	})
}
