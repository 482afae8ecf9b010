package main

import (
	"context"
	"errors"
	"sync"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"google.golang.org/grpc"
)

// errInjected fails an attempt before its effect.
var errInjected = errors.New("payment: injected fault before the effect")

// fault is what goes wrong with an order, once.
type fault struct {
	// losesCompletion: the money is taken, the call is recorded, and Temporal
	// never hears of it.
	losesCompletion bool
	// fails is the activity whose first attempt fails before its effect.
	fails string
}

// faultOf returns the fault of the i-th order. It depends on the place alone, so
// that every run has the same faults, with and without deduplication: a third of
// the charges lose their completion, and every other order has an activity that
// fails once.
func faultOf(i int) fault {
	return []fault{
		{losesCompletion: true}, {fails: "ReserveFunds"}, {fails: "ChargePayment"},
		{losesCompletion: true}, {fails: "WriteLedger"}, {fails: "SendReceipt"},
	}[i%6]
}

// String says it for people.
func (f fault) String() string {
	if f.losesCompletion {
		return "completion of ChargePayment lost"
	}
	return f.fails + " failed once"
}

// faults make the network and the activities fail.
type faults struct {
	interceptor.WorkerInterceptorBase

	planned map[string]fault // by order

	mu   sync.Mutex
	lost map[string]bool // task tokens whose completion is to be lost
	hits int             // completions that were lost
}

func newFaults(orders []Order) *faults {
	f := &faults{planned: map[string]fault{}, lost: map[string]bool{}}
	for i, o := range orders {
		f.planned[o.ID] = faultOf(i)
	}
	return f
}

// InterceptActivity puts the faults next to the activity, inside of the
// deduplication.
func (f *faults) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &faultyActivity{ActivityInboundInterceptorBase: interceptor.ActivityInboundInterceptorBase{Next: next}, faults: f}
}

type faultyActivity struct {
	interceptor.ActivityInboundInterceptorBase
	faults *faults
}

// ExecuteActivity fails before the effect, or arranges for the completion of
// the effect to be lost.
func (a *faultyActivity) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	info := activity.GetInfo(ctx)
	planned := fault{}
	if info.Attempt == 1 {
		planned = a.faults.planned[info.WorkflowExecution.ID]
	}
	if planned.fails == info.ActivityType.Name {
		return nil, errInjected
	}
	markRan(ctx)
	result, err := a.Next.ExecuteActivity(ctx, in)
	if err == nil && planned.losesCompletion && info.ActivityType.Name == "ChargePayment" {
		a.faults.lose(info.TaskToken)
	}
	return result, err
}

func (f *faults) lose(taskToken []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lost[string(taskToken)] = true
}

// lostCompletions tells how many there were.
func (f *faults) lostCompletions() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hits
}

// onTheWire loses the completions: the worker believes that it has reported, and
// Temporal hears nothing. It is an interceptor of the client's connection.
func (f *faults) onTheWire(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	if completed, ok := request.(*workflowservice.RespondActivityTaskCompletedRequest); ok {
		f.mu.Lock()
		lost := f.lost[string(completed.GetTaskToken())]
		if lost {
			f.hits++
		}
		f.mu.Unlock()
		if lost {
			return nil
		}
	}
	return invoke(ctx, method, request, reply, conn, options...)
}
