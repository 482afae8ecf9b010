package telemetry

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// maxTypes bounds the activity types whose attributes are kept: one that the
// workflow makes up anew each time must not fill the memory.
const maxTypes = 4096

type typeName struct{ namespace, activityType string }

// Type counts what happens to the executions of one activity type.
type Type struct {
	t    *Telemetry
	name typeName
	attributes

	mu   sync.RWMutex
	ends map[end]attributes
}

// end is how an execution ended, beside its type.
type end struct {
	source  string
	outcome Outcome
}

// Type returns the counts of an activity type.
func (t *Telemetry) Type(namespace, activityType string) *Type {
	name := typeName{namespace, activityType}
	t.mu.RLock()
	y := t.types[name]
	t.mu.RUnlock()
	if y != nil {
		return y
	}
	y = &Type{
		t: t, name: name, ends: map[end]attributes{},
		attributes: newAttributes(AttrNamespace.String(namespace), AttrActivityType.String(activityType)),
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if other := t.types[name]; other != nil {
		return other
	}
	if len(t.types) < maxTypes {
		t.types[name] = y
	}
	y.begin()
	return y
}

// begin counts nothing, so that the counters which somebody is woken up for are
// there before the first time: what appears with 1 has not increased.
func (y *Type) begin() {
	for _, c := range []metric.Int64Counter{y.t.waits, y.t.takeovers, y.t.unprotected, y.t.leaseLost, y.t.staleWrites, y.t.settleFails} {
		c.Add(context.Background(), 0, y.add...)
	}
}

// Ended counts an execution. latency is the time spent on deduplication.
func (y *Type) Ended(ctx context.Context, source string, outcome Outcome, latency time.Duration) {
	e := end{source, outcome}
	y.mu.RLock()
	a, ok := y.ends[e]
	y.mu.RUnlock()
	if !ok {
		a = newAttributes(AttrNamespace.String(y.name.namespace), AttrActivityType.String(y.name.activityType),
			AttrSource.String(source), AttrOutcome.String(string(outcome)))
		y.mu.Lock()
		y.ends[e] = a
		y.mu.Unlock()
	}
	y.t.outcome.Add(ctx, 1, a.add...)
	y.t.latency.Record(ctx, latency.Seconds(), a.record...)
}

// InFlight counts an execution that begins, with 1, or ends, with -1.
func (y *Type) InFlight(ctx context.Context, n int64) { y.t.inFlight.Add(ctx, n, y.add...) }

// Waited counts an execution that has to wait.
func (y *Type) Waited(ctx context.Context) { y.t.waits.Add(ctx, 1, y.add...) }

// TakenOver counts an execution that follows one without an outcome.
func (y *Type) TakenOver(ctx context.Context) { y.t.takeovers.Add(ctx, 1, y.add...) }

// Unprotected counts a body that runs without a record.
func (y *Type) Unprotected(ctx context.Context) { y.t.unprotected.Add(ctx, 1, y.add...) }

// LeaseLost counts a body that another execution has overtaken.
func (y *Type) LeaseLost(ctx context.Context) { y.t.leaseLost.Add(ctx, 1, y.add...) }

// StaleWrite counts a settlement that the store refused.
func (y *Type) StaleWrite(ctx context.Context) { y.t.staleWrites.Add(ctx, 1, y.add...) }

// SettleFailed counts an execution whose end is not recorded.
func (y *Type) SettleFailed(ctx context.Context) { y.t.settleFails.Add(ctx, 1, y.add...) }

// Outcomes of calls of the store and of passes.
const (
	callOK       = "ok"
	callFailed   = "error"
	callCanceled = "canceled"
)

func (t *Telemetry) makeSets() {
	t.storeCalls, t.renewed, t.passEnds = map[storeCall]attributes{}, map[string]attributes{}, map[bool]attributes{}
	for _, operation := range operations {
		for _, outcome := range []string{callOK, callFailed, callCanceled} {
			t.storeCalls[storeCall{operation, outcome}] = newAttributes(AttrOperation.String(operation), AttrOutcome.String(outcome))
		}
	}
	for _, outcome := range []string{string(store.LeaseRenewed), string(store.LeaseLost), string(store.LeaseLocked), callFailed} {
		t.renewed[outcome] = newAttributes(AttrOutcome.String(outcome))
	}
	t.passEnds[true], t.passEnds[false] = newAttributes(AttrOutcome.String(callOK)), newAttributes(AttrOutcome.String(callFailed))
}

// begin does for what has no type as [Type.begin] does.
func (t *Telemetry) begin() {
	for _, a := range t.renewed {
		t.renewals.Add(context.Background(), 0, a.add...)
	}
}

// BeginEvicting does the same for an evictor.
func (t *Telemetry) BeginEvicting() {
	t.evicted.Add(context.Background(), 0)
	for _, a := range t.passEnds {
		t.passes.Add(context.Background(), 0, a.add...)
	}
}

// Renewed counts the answers to renewals; err stands for all of them.
func (t *Telemetry) Renewed(ctx context.Context, leases int, answers []store.Renewal, err error) {
	if err != nil {
		t.renewals.Add(ctx, int64(leases), t.renewed[callFailed].add...)
		return
	}
	counts := map[store.Renewal]int64{}
	for _, a := range answers {
		counts[a]++
	}
	for answer, n := range counts {
		t.renewals.Add(ctx, n, t.renewed[string(answer)].add...)
	}
}

// Evicted counts a pass of an evictor.
func (t *Telemetry) Evicted(p store.Pass) {
	ctx := context.Background() // a pass belongs to nobody's trace
	t.evicted.Add(ctx, int64(p.Removed))
	if !errors.Is(p.Err, context.Canceled) { // one that was stopped is no failure
		t.passes.Add(ctx, 1, t.passEnds[p.Err == nil].add...)
	}
	if p.Held != store.HeldUnknown {
		t.held.Record(ctx, p.Held)
	}
}
