package dedupe_test

import (
	"context"
	"strings"
	"sync"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// again ends the ID of a row's second call, whose answer is not lost.
const again = ", again"

// told is what Temporal is told of an activity.
type told struct {
	result  *commonpb.Payloads
	failure *failurepb.Failure
}

// tap is a wire to Temporal that loses the first answer to each activity, and
// keeps a copy of every answer by activity ID.
type tap struct {
	keep bool // loses nothing

	mu     sync.Mutex
	ids    map[string]string // by task token
	told   map[string][]told
	eager  map[string]bool // came with the answer to a workflow task
	bodies map[string]int  // that ran, by activity ID
}

func newTap() *tap {
	return &tap{ids: map[string]string{}, told: map[string][]told{}, eager: map[string]bool{}, bodies: map[string]int{}}
}

func (w *tap) intercept(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	switch r := req.(type) {
	case *workflowservice.RespondActivityTaskCompletedRequest:
		if w.lose(r.GetTaskToken(), told{result: r.GetResult()}) {
			return nil
		}
	case *workflowservice.RespondActivityTaskFailedRequest:
		if w.lose(r.GetTaskToken(), told{failure: r.GetFailure()}) {
			return nil
		}
	}
	if err := invoke(ctx, method, req, reply, cc, opts...); err != nil {
		return err
	}
	switch r := reply.(type) {
	case *workflowservice.PollActivityTaskQueueResponse:
		w.arrived(r, false)
	case *workflowservice.RespondWorkflowTaskCompletedResponse:
		for _, task := range r.GetActivityTasks() {
			w.arrived(task, true)
		}
	}
	return nil
}

func (w *tap) arrived(task *workflowservice.PollActivityTaskQueueResponse, eager bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ids[string(task.GetTaskToken())] = task.GetActivityId()
	if eager {
		w.eager[task.GetActivityId()] = true
	}
}

func (w *tap) lose(token []byte, t told) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := w.ids[string(token)]
	copied := told{proto.CloneOf(t.result), proto.CloneOf(t.failure)}
	w.told[id] = append(w.told[id], copied)
	return !w.keep && len(w.told[id]) == 1 && !strings.HasSuffix(id, again)
}

// answers returns what Temporal was told of an activity, lost or not.
func (w *tap) answers(id string) []told {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.told[id]
}

func (w *tap) ran(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bodies[id]++
}

func (w *tap) runs(id string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bodies[id]
}

// recorded returns what the history holds of each activity, by activity ID, and
// of each local activity, by the order of their markers.
func recorded(h *historypb.History) (activities map[string]told, markers []told) {
	ids, activities := map[int64]string{}, map[string]told{}
	for _, e := range h.GetEvents() {
		switch e.GetEventType() {
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
			ids[e.GetEventId()] = e.GetActivityTaskScheduledEventAttributes().GetActivityId()
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
			a := e.GetActivityTaskCompletedEventAttributes()
			activities[ids[a.GetScheduledEventId()]] = told{result: a.GetResult()}
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED:
			a := e.GetActivityTaskFailedEventAttributes()
			activities[ids[a.GetScheduledEventId()]] = told{failure: a.GetFailure()}
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
			a := e.GetActivityTaskTimedOutEventAttributes()
			activities[ids[a.GetScheduledEventId()]] = told{failure: a.GetFailure()}
		case enumspb.EVENT_TYPE_MARKER_RECORDED:
			a := e.GetMarkerRecordedEventAttributes()
			if a.GetMarkerName() == "LocalActivity" {
				markers = append(markers, told{a.GetDetails()["result"], a.GetFailure()})
			}
		}
	}
	return activities, markers
}
