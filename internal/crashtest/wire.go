package crashtest

import (
	"context"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
)

// mortalWire is an interceptor of the connection to Temporal that the worker
// does not always survive.
type mortalWire struct {
	plan plan
	die  func()
}

// intercept dies after Temporal has acknowledged the victim's result; where
// there is no record after which it could have died, also before Temporal hears.
func (m *mortalWire) intercept(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	completed, ok := request.(*workflowservice.RespondActivityTaskCompletedRequest)
	if ok && m.plan.DatabaseURL == "" && m.plan.dies(BeforeReport, string(completed.GetTaskToken())) {
		m.die()
	}
	err := invoke(ctx, method, request, reply, conn, options...)
	if ok && err == nil && m.plan.dies(AfterReport, string(completed.GetTaskToken())) {
		m.die()
	}
	return err
}
