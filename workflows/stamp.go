package workflows

import (
	"reflect"
	"slices"

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
	passed  []*run // the twins that it has passed
}

// stamp writes a call's header, over whatever stood there (an interceptor that
// copies headers may have put another call's), and marks the context for a twin
// of this interceptor further in. Without facts there is to be no header.
func (r *run) stamp(ctx workflow.Context, facts *wire.Facts) workflow.Context {
	m := &mark{header: interceptor.WorkflowHeader(ctx), passed: []*run{r}}
	switch {
	case r.used(ctx, m.header):
		r.warnShared(ctx)
	case facts != nil:
		m.payload = wire.Encode(*facts)
	}
	m.write()
	return workflow.WithValue(ctx, stampKey{}, m)
}

// stamped tells whether a twin of this interceptor has numbered this very call,
// and puts right what was done to its header since. The twins count apart, so
// only the outermost may count.
func (r *run) stamped(ctx workflow.Context) bool {
	m, ok := ctx.Value(stampKey{}).(*mark)
	if !ok || place(m.header) != place(interceptor.WorkflowHeader(ctx)) {
		return false
	}
	if slices.Contains(m.passed, r) {
		m.payload = nil
		r.warnShared(ctx)
	}
	m.passed = append(m.passed, r)
	m.write()
	return true
}

// used tells whether an interceptor has gone on before with this header, in the same
// workflow task. Until the task ends the SDK has nothing but the map, so that both
// calls would get what is written last: neither is to have any of it then, and each is
// deduplicated as one without a header.
func (r *run) used(ctx workflow.Context, header map[string]*commonpb.Payload) bool {
	if header == nil {
		return false
	}
	if task := workflow.GetInfo(ctx).GetCurrentHistoryLength(); task != r.task {
		r.task = task
		clear(r.headers)
	}
	at := place(header)
	_, used := r.headers[at]
	r.headers[at] = header // which also keeps another from standing there
	return used
}

func (r *run) warnShared(ctx workflow.Context) {
	if !r.warned {
		r.warned = true
		workflow.GetLogger(ctx).Warn("dedupe: an interceptor goes on more than once with a call; what it makes of one is not numbered")
	}
}

func place(header map[string]*commonpb.Payload) uintptr { return reflect.ValueOf(header).Pointer() }

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
