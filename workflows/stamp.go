package workflows

import (
	"maps"
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

// use is what a header was written for.
type use struct {
	header map[string]*commonpb.Payload // kept, so that no other comes to stand in its place
	calls  []workflow.Future
	local  bool
}

// over tells whether nothing will be read from the header any more.
func (u *use) over() bool {
	return len(u.calls) > 0 && !slices.ContainsFunc(u.calls, func(f workflow.Future) bool { return !f.IsReady() })
}

// used tells whether an interceptor has gone on before with this header, and the SDK
// still has nothing but the map: of a local activity until it has ended, since each
// attempt reads it, and of other calls until the workflow task has. Both calls would
// get what is written last: neither is to have any of it then, and each is
// deduplicated as one without a header.
func (r *run) used(ctx workflow.Context, header map[string]*commonpb.Payload) bool {
	if header == nil {
		return false
	}
	if task := workflow.GetInfo(ctx).GetCurrentHistoryLength(); task != r.task {
		r.task = task
		maps.DeleteFunc(r.headers, func(_ uintptr, u *use) bool { return !u.local || u.over() })
	}
	if u := r.headers[place(header)]; u != nil && !u.over() {
		return true
	}
	r.headers[place(header)] = &use{header: header}
	return false
}

// made notes the call that a header was written for.
func (r *run) made(ctx workflow.Context, call workflow.Future, local bool) {
	if u := r.headers[place(interceptor.WorkflowHeader(ctx))]; u != nil {
		u.calls, u.local = append(u.calls, call), local
	}
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
