package workflows

import (
	"reflect"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/wire"
)

// stampKey finds the mark that a call has been numbered.
type stampKey struct{}

// mark is what a call was given. The SDK makes a header of its own for each
// call, so the header tells calls apart: a mark found with another header
// belongs to the call within which this one is made.
type mark struct {
	header  map[string]*commonpb.Payload
	payload *commonpb.Payload
}

// stamp writes a call's header, over whatever stood there (an interceptor that
// copies headers may have put another call's), and marks the context for a twin
// of this interceptor further in. Without facts there is to be no header.
func stamp(ctx workflow.Context, facts *wire.Facts) workflow.Context {
	m := &mark{header: interceptor.WorkflowHeader(ctx)}
	if facts != nil {
		m.payload = wire.Encode(*facts)
	}
	m.write()
	return workflow.WithValue(ctx, stampKey{}, m)
}

// stamped tells whether a twin of this interceptor has numbered this very call,
// and puts right what was done to its header since. The twins count apart, so
// only the outermost may count.
func stamped(ctx workflow.Context) bool {
	m, ok := ctx.Value(stampKey{}).(*mark)
	if !ok || reflect.ValueOf(m.header).Pointer() != reflect.ValueOf(interceptor.WorkflowHeader(ctx)).Pointer() {
		return false
	}
	m.write()
	return true
}

func (m *mark) write() {
	switch {
	case m.header == nil:
		// No header can be written outside of a call; the SDK refuses such a
		// call itself.
	case m.payload == nil:
		delete(m.header, wire.HeaderKey)
	default:
		m.header[wire.HeaderKey] = m.payload
	}
}
