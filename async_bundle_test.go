package dedupe_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"

	dedupe "github.com/seed5aa7bdf6/temporal-dedupe"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/devserver/devservertest"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/memstore"
)

// outside is a workflow whose activity, "Work", leaves its result to somebody
// outside.
type outside struct {
	*bundle
	client  client.Client
	handles chan dedupe.Handle // one for each body that ran
	bodies  atomic.Int32
	ahead   atomic.Int64 // by which the store's clock is ahead
	options dedupe.AsyncOptions
	// before is called by each body before it returns.
	before func(context.Context, dedupe.Handle)
	// crash loses one answer of the completer to Temporal.
	crash atomic.Bool
}

// asyncOptions are those of the activity: an attempt ends after two seconds.
var asyncOptions = workflow.ActivityOptions{
	StartToCloseTimeout: 2 * time.Second,
	RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 10 * time.Millisecond, MaximumAttempts: 6},
}

// patient are those of an activity whose only attempt lasts as long as the test.
var patient = workflow.ActivityOptions{StartToCloseTimeout: time.Minute, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1}}

func newOutside(t *testing.T, change ...func(*outside)) *outside {
	t.Helper()
	return newOutsideWith(t, dedupe.Policy{}, asyncOptions, change...)
}

func newOutsideWith(t *testing.T, policy dedupe.Policy, o workflow.ActivityOptions, change ...func(*outside)) *outside {
	t.Helper()
	s := &outside{}
	memory, err := memstore.New(memstore.Options{Now: func() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) }})
	require.NoError(t, err)
	s.open(t, memory, policy, o, change...)
	return s
}

// open starts the worker, with records in a store.
func (s *outside) open(t *testing.T, records store.Store, policy dedupe.Policy, o workflow.ActivityOptions, change ...func(*outside)) {
	t.Helper()
	s.bundle = setup(t)
	s.store = records
	s.handles, s.before = make(chan dedupe.Handle, 20), func(context.Context, dedupe.Handle) {}
	// Encoding is visible: what is encoded twice cannot be read.
	data := converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), converter.NewZlibCodec(converter.ZlibCodecOptions{AlwaysEncode: true}))
	var err error
	s.client, err = client.Dial(client.Options{
		HostPort: devservertest.RequireServer(t).Address(), Logger: quiet, DataConverter: data, Plugins: []client.Plugin{s.plugin(policy)},
		ConnectionOptions: client.ConnectionOptions{DialOptions: []grpc.DialOption{grpc.WithUnaryInterceptor(s.intercept)}},
	})
	require.NoError(t, err)
	t.Cleanup(s.client.Close)
	s.options = dedupe.AsyncOptions{Client: s.client, Store: s.store, DataConverter: data}
	for _, c := range change {
		c(s)
	}
	s.work(s.client, s.queue, func(r worker.Registry) {
		r.RegisterWorkflowWithOptions(callWith(o, ""), workflow.RegisterOptions{Name: "call"})
		r.RegisterWorkflowWithOptions(callWith(o, "invoice "+s.queue), workflow.RegisterOptions{Name: "pay"})
		register(r, "Work", func(ctx context.Context) (string, error) {
			s.bodies.Add(1)
			h := dedupe.PendingHandle(ctx)
			s.before(ctx, h)
			s.handles <- h
			return "", sdkactivity.ErrResultPending
		})
	})
}

// intercept stands between the completer and Temporal.
func (s *outside) intercept(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if _, ok := req.(*workflowservice.RespondActivityTaskCompletedByIdRequest); ok && s.crash.CompareAndSwap(true, false) {
		return errors.New("crashed")
	}
	return invoke(ctx, method, req, reply, cc, opts...)
}

// complete sends a handle to another process, which completes the call.
func (s *outside) complete(h dedupe.Handle, result any, err error) error {
	s.t.Helper()
	text, problem := h.MarshalText()
	require.NoError(s.t, problem)
	var received dedupe.Handle
	require.NoError(s.t, received.UnmarshalText(text))
	return dedupe.CompleteAsync(s.t.Context(), s.options, received, result, err)
}

// pending returns a handle whose body has returned.
func (s *outside) pending() dedupe.Handle {
	s.t.Helper()
	h := <-s.handles
	s.requirePending()
	return h
}

func (s *outside) requirePending() {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return s.record().Pending }, 20*time.Second, 5*time.Millisecond)
}

// record is that of the one call.
func (s *outside) record() store.Record {
	for _, key := range []string{"w/default/" + s.queue + "/0/Work/1", "b/default/Work/invoice%20" + s.queue} {
		if r, err := s.store.Get(s.t.Context(), key); err == nil {
			return r
		}
	}
	return store.Record{}
}

// attempt waits until the activity's n-th attempt has begun.
func (s *outside) attempt(run client.WorkflowRun, n int32) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		d, err := s.client.DescribeWorkflowExecution(s.t.Context(), run.GetID(), run.GetRunID())
		if err != nil || len(d.GetPendingActivities()) == 0 {
			return false
		}
		a := d.GetPendingActivities()[0]
		return a.GetAttempt() >= n && a.GetState().String() == "Started"
	}, 30*time.Second, 20*time.Millisecond)
}

// requireResult asserts on what the workflow got, and on how many bodies ran.
func (s *outside) requireResult(run client.WorkflowRun, want string, bodies int32) {
	s.t.Helper()
	var got string
	require.NoError(s.t, run.Get(s.t.Context(), &got))
	require.Equal(s.t, want, got)
	require.Equal(s.t, bodies, s.bodies.Load())
}
