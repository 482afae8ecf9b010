package workflows_test

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/wire"
	"github.com/seed5aa7bdf6/temporal-dedupe/workflows"
)

// history is that of a run which charges several times, one call after another,
// as a server records it. Header writes the header of each call.
func history(calls int, header func(call int) *commonpb.Header) *historypb.History {
	h := &historypb.History{}
	add := func(e *historypb.HistoryEvent) int64 {
		e.EventId = int64(len(h.Events) + 1)
		e.EventTime = timestamppb.New(time.Unix(1_700_000_000+e.EventId, 0))
		h.Events = append(h.Events, e)
		return e.EventId
	}
	queue := &taskqueuepb.TaskQueue{Name: "orders", Kind: enumspb.TASK_QUEUE_KIND_NORMAL}
	task := func() int64 {
		scheduled := add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED,
			Attributes: &historypb.HistoryEvent_WorkflowTaskScheduledEventAttributes{WorkflowTaskScheduledEventAttributes: &historypb.WorkflowTaskScheduledEventAttributes{TaskQueue: queue}}})
		started := add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED,
			Attributes: &historypb.HistoryEvent_WorkflowTaskStartedEventAttributes{WorkflowTaskStartedEventAttributes: &historypb.WorkflowTaskStartedEventAttributes{ScheduledEventId: scheduled}}})
		return add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED,
			Attributes: &historypb.HistoryEvent_WorkflowTaskCompletedEventAttributes{WorkflowTaskCompletedEventAttributes: &historypb.WorkflowTaskCompletedEventAttributes{ScheduledEventId: scheduled, StartedEventId: started}}})
	}
	add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED,
		Attributes: &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{WorkflowExecutionStartedEventAttributes: &historypb.WorkflowExecutionStartedEventAttributes{
			WorkflowType: &commonpb.WorkflowType{Name: "Order"}, TaskQueue: queue, Attempt: 1,
			OriginalExecutionRunId: "run-1", FirstExecutionRunId: "run-1",
		}}})
	for n := range calls {
		completed := task()
		scheduled := add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
			Attributes: &historypb.HistoryEvent_ActivityTaskScheduledEventAttributes{ActivityTaskScheduledEventAttributes: &historypb.ActivityTaskScheduledEventAttributes{
				ActivityId: fmt.Sprint(len(h.Events) + 1), ActivityType: &commonpb.ActivityType{Name: "Charge"}, TaskQueue: queue,
				StartToCloseTimeout: durationpb.New(time.Minute), WorkflowTaskCompletedEventId: completed, Header: header(n + 1),
			}}})
		started := add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED,
			Attributes: &historypb.HistoryEvent_ActivityTaskStartedEventAttributes{ActivityTaskStartedEventAttributes: &historypb.ActivityTaskStartedEventAttributes{ScheduledEventId: scheduled, Attempt: 1}}})
		add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED,
			Attributes: &historypb.HistoryEvent_ActivityTaskCompletedEventAttributes{ActivityTaskCompletedEventAttributes: &historypb.ActivityTaskCompletedEventAttributes{ScheduledEventId: scheduled, StartedEventId: started}}})
	}
	completed := task()
	add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED,
		Attributes: &historypb.HistoryEvent_WorkflowExecutionCompletedEventAttributes{WorkflowExecutionCompletedEventAttributes: &historypb.WorkflowExecutionCompletedEventAttributes{WorkflowTaskCompletedEventId: completed}}})
	return h
}

func TestReplay(t *testing.T) {
	t.Parallel()
	const calls = 3
	ours := func(n int) *commonpb.Header {
		k := 0
		return &commonpb.Header{Fields: map[string]*commonpb.Payload{wire.HeaderKey: wire.Encode(wire.Facts{
			To: wire.ToActivity, WorkflowID: "order-42", RunID: "run-1", Lineage: "run-1", Chain: &k, Number: n,
		})}}
	}
	none := func(int) *commonpb.Header { return nil }

	for name, header := range map[string]func(int) *commonpb.Header{
		"WithHeaders":    ours,
		"WithoutHeaders": none,
		"SomeOfEach": func(n int) *commonpb.Header {
			if n == 2 {
				return ours(n)
			}
			return nil
		},
	} {
		for worker, chain := range map[string][]interceptor.WorkerInterceptor{
			"WithTheInterceptor":    {workflows.NewInterceptor()},
			"WithTwo":               {workflows.NewInterceptor(), workflows.NewInterceptor()},
			"WithoutTheInterceptor": nil,
		} {
			t.Run("AcceptsAHistory"+name+worker, func(t *testing.T) {
				t.Parallel()
				requireReplay(t, history(calls, header), chain...)
			})
		}
	}

	t.Run("CountsAsBefore", func(t *testing.T) {
		t.Parallel()
		for range 3 {
			var total atomic.Int64
			// Further in than ours, so that it sees what goes to the server.
			after := &meddler{before: func(ctx workflow.Context, _ string) {
				f, err := wire.Decode(interceptor.WorkflowHeader(ctx)[wire.HeaderKey])
				require.NoError(t, err)
				require.EqualValues(t, total.Add(1), f.Number)
				require.Equal(t, "run-1", f.Lineage)
			}}
			requireReplay(t, history(calls, none), after, workflows.NewInterceptor())
			require.EqualValues(t, calls, total.Load())
		}
	})
}

func requireReplay(t *testing.T, h *historypb.History, chain ...interceptor.WorkerInterceptor) {
	t.Helper()
	r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{Interceptors: chain})
	require.NoError(t, err)
	r.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
		return inOrder(call(ctx, "Charge"), call(ctx, "Charge"), call(ctx, "Charge"))
	}, workflow.RegisterOptions{Name: "Order"})
	require.NoError(t, r.ReplayWorkflowHistory(log.NewStructuredLogger(slog.New(slog.DiscardHandler)), h))
}
