package dedupe_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/wire"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/workflows"
)

type fields = map[string]*commonpb.Payload

// meddler is a user's interceptor that writes headers.
type meddler struct {
	interceptor.WorkerInterceptorBase
	// call changes the header of an activity or a child, given the one that
	// the run was started with; n counts the calls of the instance.
	call func(ctx workflow.Context, n int, inherited, header fields)
	// continued gives the header of the next run.
	continued func(ctx workflow.Context) fields
	// activity makes what it likes of a call, by going on any number of times.
	activity func(ctx workflow.Context, next func() workflow.Future) workflow.Future
}

func (m *meddler) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	i := &meddlerInbound{m: m}
	i.Next = next
	return i
}

type meddlerInbound struct {
	interceptor.WorkflowInboundInterceptorBase
	m         *meddler
	inherited fields
	n         int
}

func (i *meddlerInbound) Init(next interceptor.WorkflowOutboundInterceptor) error {
	o := &meddlerOutbound{i: i}
	o.Next = next
	return i.Next.Init(o)
}

func (i *meddlerInbound) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	i.inherited = maps.Clone(interceptor.WorkflowHeader(ctx))
	result, err := i.Next.ExecuteWorkflow(ctx, in)
	if next := new(workflow.ContinueAsNewError); errors.As(err, &next) && i.m.continued != nil {
		next.Header = &commonpb.Header{Fields: i.m.continued(ctx)}
	}
	return result, err
}

type meddlerOutbound struct {
	interceptor.WorkflowOutboundInterceptorBase
	i *meddlerInbound
}

func (o *meddlerOutbound) meddle(ctx workflow.Context) {
	if o.i.n++; o.i.m.call != nil {
		o.i.m.call(ctx, o.i.n, o.i.inherited, interceptor.WorkflowHeader(ctx))
	}
}

func (o *meddlerOutbound) ExecuteActivity(ctx workflow.Context, activityType string, args ...any) workflow.Future {
	o.meddle(ctx)
	next := func() workflow.Future { return o.Next.ExecuteActivity(ctx, activityType, args...) }
	if o.i.m.activity != nil {
		return o.i.m.activity(ctx, next)
	}
	return next()
}

func (o *meddlerOutbound) ExecuteChildWorkflow(ctx workflow.Context, childType string, args ...any) workflow.ChildWorkflowFuture {
	o.meddle(ctx)
	return o.Next.ExecuteChildWorkflow(ctx, childType, args...)
}

// forward copies every header of the run onto its calls, as interceptors that
// carry a context along do.
func forward(_ workflow.Context, _ int, inherited, header fields) { maps.Copy(header, inherited) }

// plain is a header payload, written by hand.
func plain(text string) *commonpb.Payload {
	return &commonpb.Payload{Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: []byte(text)}
}

// meddle runs workflows with interceptors on one worker and activities with the
// whole plugin on another.
func (b *bundle) meddle(p *provider, interceptors ...interceptor.WorkerInterceptor) client.Client {
	b.t.Helper()
	c := b.client()
	w := worker.New(c, b.queue, worker.Options{Interceptors: interceptors})
	registerWorkflow(w, "again", func(ctx workflow.Context, run int) error {
		ctx = workflow.WithTaskQueue(ctx, b.queue+"-activities")
		for range 2 {
			if _, err := charge(ctx, "10"); err != nil {
				return err
			}
		}
		if run == 1 {
			return bear(workflow.WithTaskQueue(ctx, b.queue), "leaf", "", "10")
		}
		return workflow.NewContinueAsNewError(ctx, "again", 1)
	})
	registerWorkflow(w, "leaf", func(ctx workflow.Context, amount string) error {
		_, err := charge(workflow.WithTaskQueue(ctx, b.queue+"-activities"), amount)
		return err
	})
	require.NoError(b.t, w.Start())
	b.t.Cleanup(w.Stop)
	b.work(b.client(b.plugin()), b.queue+"-activities", p.register)
	return c
}

func TestHeaders(t *testing.T) {
	t.Parallel()

	for place, chain := range map[string]func(m *meddler) []interceptor.WorkerInterceptor{
		"outside of ours, where it has the last word": func(m *meddler) []interceptor.WorkerInterceptor {
			return []interceptor.WorkerInterceptor{m, workflows.NewInterceptor()}
		},
		"inside of ours, where ours has it": func(m *meddler) []interceptor.WorkerInterceptor {
			return []interceptor.WorkerInterceptor{workflows.NewInterceptor(), m}
		},
	} {
		t.Run("an interceptor that forwards headers makes no two calls one, "+place, func(t *testing.T) {
			t.Parallel()
			b, p := setup(t), newProvider()
			c := b.meddle(p, chain(&meddler{call: forward})...)
			run := b.start(c, b.queue, "again", 0)
			second := b.successor(c, run)
			require.NoError(t, second.Get(t.Context(), nil))
			require.Len(t, p.made(), 5)
			b.requireCompleted("w/default/" + b.queue + "/0/Charge/2")
			_, err := b.store.Get(t.Context(), "w/default/"+b.queue+"/1/Charge/2")
			require.Equal(t, strings.HasPrefix(place, "inside"), err == nil, "an activity ignores what is meant for a run")
		})
	}

	t.Run("a header of another workflow's activity is ignored", func(t *testing.T) {
		t.Parallel()
		b, p := setup(t), newProvider()
		c := b.meddle(p, &meddler{call: func(_ workflow.Context, _ int, _, header fields) {
			header[wire.HeaderKey] = plain(`{"v":1,"to":"activity","workflow_id":"another","run_id":"r","lineage":"r","chain":0,"n":1}`)
		}})
		require.NoError(t, b.start(c, b.queue, "again", 1).Get(t.Context(), nil))
		require.Len(t, p.made(), 3, "all three have the same number")
	})

	t.Run("an interceptor that goes on twice at once makes two calls, and none that a reset would find", func(t *testing.T) {
		t.Parallel()
		b, p := setup(t), newProvider()
		c := b.meddle(p, workflows.NewInterceptor(), &meddler{activity: func(ctx workflow.Context, next func() workflow.Future) workflow.Future {
			first, second := next(), next()
			_ = first.Get(ctx, nil)
			return second
		}})
		require.NoError(t, b.start(c, b.queue, "again", 1).Get(t.Context(), nil))
		require.Len(t, p.made(), 6)
		_, err := b.store.Get(t.Context(), "w/default/"+b.queue+"/0/Charge/1")
		require.ErrorIs(t, err, store.ErrNotFound)
	})

	t.Run("an interceptor that goes on again later makes another call", func(t *testing.T) {
		t.Parallel()
		b, p := setup(t), newProvider()
		c := b.meddle(p, workflows.NewInterceptor(), &meddler{activity: func(ctx workflow.Context, next func() workflow.Future) workflow.Future {
			_ = next().Get(ctx, nil)
			return next()
		}})
		require.NoError(t, b.start(c, b.queue, "again", 1).Get(t.Context(), nil))
		require.Len(t, p.made(), 6)
		for n := range 4 {
			b.requireCompleted(fmt.Sprintf("w/default/%s/0/Charge/%d", b.queue, n+1))
		}
	})

	for name, header := range map[string]string{
		"of another predecessor":     `{"v":1,"to":"continuation","workflow_id":"%s","run_id":"another","chain":1}`,
		"of another workflow":        `{"v":1,"to":"continuation","workflow_id":"another","run_id":"another","chain":1}`,
		"to a child":                 `{"v":1,"to":"child","workflow_id":"%s","run_id":"r","scope":["s"],"lineage":"l","n":1}`,
		"that is none":               `nonsense`,
		"of a version of the future": `{"v":2,"to":"continuation","workflow_id":"%s","run_id":"another","chain":1}`,
	} {
		t.Run("a run that is continued with a header "+name+" stands for itself", func(t *testing.T) {
			t.Parallel()
			b, p := setup(t), newProvider()
			c := b.meddle(p, &meddler{continued: func(workflow.Context) fields {
				return fields{wire.HeaderKey: plain(strings.ReplaceAll(header, "%s", b.queue))}
			}}, workflows.NewInterceptor())
			second := b.successor(c, b.start(c, b.queue, "again", 0))
			require.NoError(t, second.Get(t.Context(), nil))
			require.Len(t, p.made(), 5)
			b.requireCompleted("w/default/" + b.queue + "/run:" + second.GetRunID() + "/Charge/2")
		})
	}

	t.Run("headers that are written by hand as documented are honoured", func(t *testing.T) {
		t.Parallel()
		b, p := setup(t), newProvider()
		examples := documented(t)
		c := b.meddle(p, &meddler{
			call: func(ctx workflow.Context, n int, inherited, header fields) {
				info := workflow.GetInfo(ctx)
				example := maps.Clone(examples["activity"])
				example["chain"], example["n"] = 0, n
				if inherited[wire.HeaderKey] != nil {
					example["chain"] = 1
				}
				if n == 3 {
					example = maps.Clone(examples["child"])
				}
				example["workflow_id"], example["run_id"] = info.WorkflowExecution.ID, info.WorkflowExecution.RunID
				if parent := info.ParentWorkflowExecution; parent != nil {
					example["scope"], example["chain"] = []string{parent.ID, "1", "leaf", "1"}, 0
				}
				text, err := json.Marshal(example)
				require.NoError(t, err)
				header[wire.HeaderKey] = plain(string(text))
			},
			continued: func(ctx workflow.Context) fields {
				example := maps.Clone(examples["continuation"])
				example["workflow_id"], example["run_id"] = workflow.GetInfo(ctx).WorkflowExecution.ID, workflow.GetInfo(ctx).WorkflowExecution.RunID
				text, err := json.Marshal(example)
				require.NoError(t, err)
				return fields{wire.HeaderKey: plain(string(text))}
			},
		})
		second := b.successor(c, b.start(c, b.queue, "again", 0))
		require.NoError(t, second.Get(t.Context(), nil))
		for _, key := range []string{
			"w/default/" + b.queue + "/0/Charge/1", "w/default/" + b.queue + "/0/Charge/2",
			"w/default/" + b.queue + "/1/Charge/1", "w/default/" + b.queue + "/1/Charge/2",
			"wc/default/" + b.queue + "%2F1%2Fleaf%2F1/0/Charge/1",
		} {
			b.requireCompleted(key)
		}
	})
}

// documented returns the first example of each kind of header in the docs.
func documented(t *testing.T) map[string]map[string]any {
	t.Helper()
	page, err := os.ReadFile("docs/header.md")
	require.NoError(t, err)
	examples := map[string]map[string]any{}
	for _, block := range strings.Split(string(page), "```json\n")[1:] {
		text, _, _ := strings.Cut(block, "```")
		var example map[string]any
		require.NoError(t, json.Unmarshal([]byte(text), &example))
		if kind := example["to"].(string); examples[kind] == nil {
			examples[kind] = example
		}
	}
	require.Len(t, examples, 3)
	return examples
}
