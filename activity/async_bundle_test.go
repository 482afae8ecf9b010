package activity_test

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
)

// temporalStub is a service that notes what it is told, or fails, or does not answer.
type temporalStub struct {
	workflowservice.WorkflowServiceClient
	hang atomic.Bool

	mu   sync.Mutex
	fail error
	told []proto.Message
}

// clientOf is a client with nothing but its service.
type clientOf struct {
	client.Client
	service workflowservice.WorkflowServiceClient
}

func (c clientOf) WorkflowService() workflowservice.WorkflowServiceClient { return c.service }

func (s *temporalStub) tell(ctx context.Context, m proto.Message) error {
	if s.hang.Load() {
		<-ctx.Done()
		return serviceerror.FromStatus(status.FromContextError(ctx.Err()))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return s.fail
	}
	s.told = append(s.told, m)
	return nil
}

func (s *temporalStub) RespondActivityTaskCompletedById(ctx context.Context, r *workflowservice.RespondActivityTaskCompletedByIdRequest, _ ...grpc.CallOption) (*workflowservice.RespondActivityTaskCompletedByIdResponse, error) { //nolint:staticcheck // Temporal's name
	return nil, s.tell(ctx, r)
}

func (s *temporalStub) RespondActivityTaskFailedById(ctx context.Context, r *workflowservice.RespondActivityTaskFailedByIdRequest, _ ...grpc.CallOption) (*workflowservice.RespondActivityTaskFailedByIdResponse, error) { //nolint:staticcheck // Temporal's name
	return nil, s.tell(ctx, r)
}

func (s *temporalStub) RespondActivityTaskCanceledById(ctx context.Context, r *workflowservice.RespondActivityTaskCanceledByIdRequest, _ ...grpc.CallOption) (*workflowservice.RespondActivityTaskCanceledByIdResponse, error) { //nolint:staticcheck // Temporal's name
	return nil, s.tell(ctx, r)
}

// completed returns the i-th thing that was told, which is a result.
func (s *temporalStub) completed(t *testing.T, i int) *workflowservice.RespondActivityTaskCompletedByIdRequest {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Greater(t, len(s.told), i)
	require.IsType(t, &workflowservice.RespondActivityTaskCompletedByIdRequest{}, s.told[i])
	return s.told[i].(*workflowservice.RespondActivityTaskCompletedByIdRequest)
}

// failed returns the i-th thing that was told, which is a failure.
func (s *temporalStub) failed(t *testing.T, i int) *workflowservice.RespondActivityTaskFailedByIdRequest {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Greater(t, len(s.told), i)
	require.IsType(t, &workflowservice.RespondActivityTaskFailedByIdRequest{}, s.told[i])
	return s.told[i].(*workflowservice.RespondActivityTaskFailedByIdRequest)
}

// completer completes calls of a bundle from outside.
type completer struct {
	*bundle
	temporal *temporalStub
	options  activity.AsyncOptions
}

func (b *bundle) completer() *completer {
	c := &completer{bundle: b, temporal: &temporalStub{}}
	c.options = activity.AsyncOptions{Client: clientOf{service: c.temporal}, Store: b.store}
	return c
}

func (c *completer) complete(h activity.Handle, result any, err error) error {
	return activity.CompleteAsync(context.Background(), c.options, h, result, err)
}

// hand runs the first call of "Charge", whose body hands its handle over, as
// another process would get it.
func (b *bundle) hand() activity.Handle {
	b.t.Helper()
	h, err := b.handWhile(func(activity.Handle) {})
	require.Equal(b.t, sdkactivity.ErrResultPending, err) // Temporal compares with ==
	return h
}

// handWhile does something before the body returns.
func (b *bundle) handWhile(do func(activity.Handle)) (activity.Handle, error) {
	b.t.Helper()
	var sent string
	_, err := b.run(1, func(ctx context.Context) (string, error) {
		text, err := json.Marshal(activity.PendingHandle(ctx))
		if err != nil {
			return "", err
		}
		sent = string(text)
		do(b.receive(sent))
		return "", sdkactivity.ErrResultPending
	})
	return b.receive(sent), err
}

func (b *bundle) receive(sent string) activity.Handle {
	var h activity.Handle
	require.NoError(b.t, json.Unmarshal([]byte(sent), &h))
	return h
}
