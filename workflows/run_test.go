package workflows_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/wire"
	"github.com/seed5aa7bdf6/temporal-dedupe/workflows"
)

// pretender makes a run look like one that the test environment cannot make,
// and keeps the error by which it continues as new.
type pretender struct {
	interceptor.WorkerInterceptorBase
	change    func(*workflow.Info)
	continued *workflow.ContinueAsNewError
}

func (p *pretender) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	i := &pretenderInbound{pretender: p}
	i.Next = next
	return i
}

type pretenderInbound struct {
	interceptor.WorkflowInboundInterceptorBase
	pretender *pretender
}

func (p *pretenderInbound) Init(next interceptor.WorkflowOutboundInterceptor) error {
	o := &pretenderOutbound{pretender: p.pretender}
	o.Next = next
	return p.Next.Init(o)
}

func (p *pretenderInbound) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	result, err := p.Next.ExecuteWorkflow(ctx, in)
	errors.As(err, &p.pretender.continued)
	return result, err
}

type pretenderOutbound struct {
	interceptor.WorkflowOutboundInterceptorBase
	pretender *pretender
}

func (p *pretenderOutbound) GetInfo(ctx workflow.Context) *workflow.Info {
	info := *p.Next.GetInfo(ctx)
	if p.pretender.change != nil {
		p.pretender.change(&info)
	}
	return &info
}

const orderID, runID = "default-test-workflow-id", "default-test-run-id"

func chain(k int) *int { return &k }

// childScope is where a child without an ID of its own stands.
var childScope = []string{"parent", "0", "Order", "1"}

func TestRun(t *testing.T) {
	t.Parallel()
	continuation := wire.Facts{To: wire.ToContinuation, WorkflowID: orderID, RunID: "run-0", Chain: chain(3)}
	ofChild := wire.Facts{
		To: wire.ToChild, WorkflowID: "parent", RunID: "parent-run", Number: 1,
		Scope: childScope, Input: "given", Lineage: "parent-first/Order/1", Execution: "parent-original/Order/1",
	}
	retry := func(i *workflow.Info) { i.Attempt, i.ContinuedExecutionRunID = 2, "run-1" }
	next := func(i *workflow.Info) { i.ContinuedExecutionRunID = "run-0" }
	parent := func(i *workflow.Info) {
		i.ParentWorkflowExecution = &workflow.Execution{ID: "parent", RunID: "parent-run"}
	}
	all := func(changes ...func(*workflow.Info)) func(*workflow.Info) {
		return func(i *workflow.Info) {
			for _, change := range changes {
				change(i)
			}
		}
	}

	for name, tc := range map[string]struct {
		info   func(*workflow.Info)
		header any // wire.Facts, *commonpb.Payload, nil
		chain  *int
		scope  []string
		exec   string
		logged string
	}{
		"AFreshRunIsTheFirst":                         {func(*workflow.Info) {}, nil, chain(0), nil, runID, ""},
		"AFreshRunIgnoresAnyContinuation":             {func(*workflow.Info) {}, continuation, chain(0), nil, runID, "ignored"},
		"AContinuedRunKnowsItsPlaceFromItsHeader":     {next, continuation, chain(3), nil, runID, ""},
		"AContinuedRunWithoutHeaderDoesNotKnow":       {next, nil, nil, nil, runID, "without the interceptor"},
		"AContinuedRunIgnoresTheHeaderOfAnother":      {next, wire.Facts{To: wire.ToContinuation, WorkflowID: orderID, RunID: "run-7", Chain: chain(3)}, nil, nil, runID, "ignored"},
		"AContinuedRunIgnoresTheHeaderOfAnActivity":   {next, wire.Facts{To: wire.ToActivity, WorkflowID: orderID, RunID: "run-0", Lineage: "l", Number: 1}, nil, nil, runID, "ignored"},
		"ARunThatDidNotKnowHandsThatOn":               {next, wire.Facts{To: wire.ToContinuation, WorkflowID: orderID, RunID: "run-0"}, nil, nil, runID, "without the interceptor"},
		"ARetryOfTheFirstRunIsTheFirst":               {retry, nil, chain(0), nil, runID, ""},
		"ARetryStandsWhereTheRunStoodThatItRepeats":   {retry, continuation, chain(3), nil, runID, ""},
		"ARetryWithAnUnknownVersionDoesNotKnow":       {retry, &commonpb.Payload{Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: []byte(`{"v":9}`)}, nil, nil, runID, "version 9"},
		"ARunWithAnEncryptedHeaderDoesNotKnow":        {next, &commonpb.Payload{Metadata: map[string][]byte{"encoding": []byte("binary/encrypted")}}, nil, nil, runID, "binary/encrypted"},
		"AChildStandsInItsParentsScope":               {parent, ofChild, chain(0), childScope, "parent-original/Order/1", ""},
		"AChildOfAnotherIgnoresTheScope":              {func(*workflow.Info) {}, ofChild, chain(0), nil, runID, "ignored"},
		"AChildStartedByAResetOfItsParentKeepsIt":     {all(parent, func(i *workflow.Info) { i.ParentWorkflowExecution.RunID = "other" }), ofChild, chain(0), childScope, "parent-original/Order/1", ""},
		"ARetryOfAChildIsAnExecutionOfItsOwn":         {all(parent, retry), ofChild, chain(0), childScope, runID, ""},
		"ARetryOfAContinuedChildKeepsScopeAndPlace":   {all(parent, retry), wire.Facts{To: wire.ToContinuation, WorkflowID: orderID, RunID: "run-0", Chain: chain(2), Scope: childScope, Input: "given", Lineage: "parent-first/Order/1"}, chain(2), childScope, runID, ""},
		"AContinuedChildKeepsScopeFromItsHeader":      {all(parent, next), wire.Facts{To: wire.ToContinuation, WorkflowID: orderID, RunID: "run-0", Chain: chain(1), Scope: childScope, Input: "given", Lineage: "parent-first/Order/1"}, chain(1), childScope, runID, ""},
		"AContinuedRunWithItsFirstHeaderDoesNotKnow":  {all(parent, next), ofChild, nil, childScope, runID, "without the interceptor"},
		"ACronRunIsSilentAboutWhatItDoesNotNeed":      {all(next, func(i *workflow.Info) { i.CronSchedule = "* * * * *" }), nil, nil, nil, runID, ""},
		"AResetRunKeepsTheNameOfTheRunThatWasReset":   {func(i *workflow.Info) { i.OriginalRunID = "original" }, nil, chain(0), nil, "original", ""},
		"AResetOfAContinuedRunFindsItsHeaderAsBefore": {all(next, func(i *workflow.Info) { i.OriginalRunID = "original" }), continuation, chain(3), nil, "original", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, &pretender{change: tc.info}, workflows.NewInterceptor())
			switch h := tc.header.(type) {
			case wire.Facts:
				b.SetHeader(&commonpb.Header{Fields: map[string]*commonpb.Payload{wire.HeaderKey: wire.Encode(h)}})
			case *commonpb.Payload:
				b.SetHeader(&commonpb.Header{Fields: map[string]*commonpb.Payload{wire.HeaderKey: h}})
			}
			b.requireRun(t, func(ctx workflow.Context) error {
				return inOrder(call(ctx, "Charge", 1), call(ctx, "Charge", 2))
			})
			for i, f := range b.facts("Charge") {
				require.Equal(t, i+1, f.Number)
				require.Equal(t, tc.chain, f.Chain)
				require.Equal(t, tc.scope, f.Scope)
				require.Equal(t, tc.exec, f.Execution)
				if tc.scope != nil {
					require.Equal(t, "parent-first/Order/1", f.Lineage)
					require.Equal(t, "given", f.Input)
				}
			}
			if tc.logged == "" {
				require.Empty(t, b.logs.all())
				return
			}
			require.Len(t, b.logs.all(), 1)
			require.Contains(t, b.logs.all()[0], tc.logged)
		})
	}

	t.Run("NamesTheChainByItsFirstRun", func(t *testing.T) {
		t.Parallel()
		b := setup(t, &pretender{change: func(i *workflow.Info) {
			i.FirstRunID, i.OriginalRunID, i.CronSchedule = "first", "original", "* * * * *"
		}}, workflows.NewInterceptor())
		b.requireRun(t, func(ctx workflow.Context) error { return call(ctx, "Charge", 1) })
		f := b.facts("Charge")[0]
		require.Equal(t, "first", f.Lineage)
		require.Equal(t, "original", f.OriginalRunID)
		require.True(t, f.Cron)
		require.Equal(t, "run:original", f.Position())
	})
}

func TestContinueAsNew(t *testing.T) {
	t.Parallel()

	for name, body := range map[string]func(workflow.Context) error{
		"Returned": func(ctx workflow.Context) error { return workflow.NewContinueAsNewError(ctx, "Order") },
		"Wrapped": func(ctx workflow.Context) error {
			return fmt.Errorf("again: %w", workflow.NewContinueAsNewError(ctx, "Order"))
		},
		"MadeByHand": func(workflow.Context) error { return &workflow.ContinueAsNewError{} },
		"WithOptions": func(ctx workflow.Context) error {
			return workflow.NewContinueAsNewErrorWithOptions(ctx, workflow.ContinueAsNewErrorOptions{}, "Order")
		},
	} {
		t.Run("TellsTheNextRunItsPlaceWhere"+name, func(t *testing.T) {
			t.Parallel()
			p := &pretender{}
			b := setup(t, p, workflows.NewInterceptor(), workflows.NewInterceptor())
			b.run(body)
			require.NotNil(t, p.continued)
			f, err := wire.Decode(p.continued.Header.GetFields()[wire.HeaderKey])
			require.NoError(t, err)
			require.Equal(t, wire.Facts{Version: wire.Version, To: wire.ToContinuation, WorkflowID: orderID, RunID: runID, Chain: chain(1)}, f)
			require.NoError(t, wire.ForContinuation(f, orderID, runID, 1))
		})
	}

	t.Run("HandsOnTheScopeOfAChild", func(t *testing.T) {
		t.Parallel()
		p := &pretender{change: func(i *workflow.Info) { i.ParentWorkflowExecution = &workflow.Execution{ID: "parent"} }}
		b := setup(t, p, workflows.NewInterceptor())
		b.SetHeader(&commonpb.Header{Fields: map[string]*commonpb.Payload{wire.HeaderKey: wire.Encode(wire.Facts{
			To: wire.ToChild, WorkflowID: "parent", RunID: "r", Scope: childScope, Lineage: "l", Execution: "e",
		})}})
		b.run(func(ctx workflow.Context) error { return workflow.NewContinueAsNewError(ctx, "Order") })
		f, err := wire.Decode(p.continued.Header.GetFields()[wire.HeaderKey])
		require.NoError(t, err)
		require.Equal(t, childScope, f.Scope)
		require.Equal(t, "l", f.Lineage)
		require.Empty(t, f.Execution)
		require.Equal(t, chain(1), f.Chain)
	})

	t.Run("SaysThatItDoesNotKnowWhereItDoesNot", func(t *testing.T) {
		t.Parallel()
		p := &pretender{}
		b := setup(t, p, workflows.NewInterceptor())
		b.SetContinuedExecutionRunID("run-0")
		b.run(func(ctx workflow.Context) error { return workflow.NewContinueAsNewError(ctx, "Order") })
		f, err := wire.Decode(p.continued.Header.GetFields()[wire.HeaderKey])
		require.NoError(t, err)
		require.Nil(t, f.Chain)
	})

	t.Run("LeavesOtherHeadersAndTheMapItFoundAlone", func(t *testing.T) {
		t.Parallel()
		shared := &commonpb.Header{Fields: map[string]*commonpb.Payload{"trace": {Data: []byte("x")}}}
		p := &pretender{}
		b := setup(t, p, workflows.NewInterceptor())
		b.run(func(workflow.Context) error { return &workflow.ContinueAsNewError{Header: shared} })
		require.Len(t, p.continued.Header.GetFields(), 2)
		require.Len(t, shared.GetFields(), 1)
	})
}
