package activity

import (
	"slices"
	"strconv"
	"strings"
	"time"

	sdkactivity "go.temporal.io/sdk/activity"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/telemetry"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/wire"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// Kinds of key. Each has its own number of parts; docs/keys.md has the grammar.
const (
	kindWorkflowID = "w" // namespace, scope, position, type, call
	kindExecution  = "e" // namespace, scope, execution, type, call
	kindRun        = "r" // namespace, workflow ID, run, type, call
	kindBusiness   = "b" // namespace, type, business key
	kindInvocation = "i" // namespace, workflow ID, run, activity ID, scheduled time, type
	kindStandalone = "s" // namespace, activity ID, activity run, type
	childMark      = "c" // follows the kind where the scope is a parent's
	localMark      = "l" // follows the kind of a local activity's key
	effectMark     = "d" // follows all of that in the key of an effect: one more part, its name
)

// call is one logical activity call.
type call struct {
	key     string
	prefix  string
	kind    string
	parts   []string // of the key, after its kind
	source  telemetry.Source
	onOther store.OtherExecution
	origin  store.Origin
	// generation is what the provider keys of the call's record begin with.
	generation int
}

// identify derives the call's identity from the activity's info and, where the
// workflow side has written one, from the header's facts. The attempt number,
// clocks and worker names never enter it. IDs are taken as they are and never
// parsed.
func identify(prefix string, info sdkactivity.Info, facts *wire.Facts, p Policy) call {
	c := call{onOther: p.OnOtherExecution, origin: originOf(info)}
	kind := func(k string) string {
		if info.IsLocalActivity {
			return k + localMark
		}
		return k
	}
	ns, typ := info.Namespace, info.ActivityType.Name
	switch {
	case info.WorkflowExecution.ID == "":
		c.source = telemetry.SourceStandalone
		c.origin.Lineage = info.ActivityRunID
		c.name(prefix, kindStandalone, ns, info.ActivityID, info.ActivityRunID, typ)
	case facts == nil:
		c.source = telemetry.SourceInvocation
		c.origin.Lineage = info.WorkflowExecution.RunID
		c.name(prefix, kind(kindInvocation), ns, info.WorkflowExecution.ID,
			info.WorkflowExecution.RunID, info.ActivityID, nanos(info.ScheduledTime), typ)
	case facts.BusinessKey != "":
		c.source = telemetry.SourceBusiness
		c.onOther = store.AnyOther
		c.origin.Lineage = lineageOf(info, facts)
		c.name(prefix, kindBusiness, ns, typ, facts.BusinessKey) // of local calls too
	default:
		c.source = telemetry.SourceWorkflow
		c.origin.Lineage = lineageOf(info, facts)
		k, where, position := place(info, facts, p.Scope)
		c.name(prefix, kind(k), ns, where, position, typ, facts.CallName())
		if p.Scope != ScopeExecution && p.Scope != ScopeRun && c.onOther != store.ReplayOther {
			c.generation = firstGeneration(c.origin.Lineage)
		}
	}
	return c
}

// name makes the call's key.
func (c *call) name(prefix, kind string, parts ...string) {
	c.prefix, c.kind, c.parts = prefix, kind, parts
	c.key = joinKey(prefix, kind, parts...)
}

// effect is the call of an effect inside this one: the activity's key, and the
// names of the effects that lead to it.
func (c call) effect(path []string) call {
	c.source = telemetry.SourceEffect
	c.key = joinKey(c.prefix, c.kind+effectMark, append(slices.Clone(c.parts), joinParts(path))...)
	return c
}

// place is where the call is counted.
func place(info sdkactivity.Info, f *wire.Facts, s Scope) (kind, where, position string) {
	if s == ScopeRun {
		return kindRun, info.WorkflowExecution.ID, info.WorkflowExecution.RunID
	}
	where, mark := info.WorkflowExecution.ID, ""
	if len(f.Scope) > 0 {
		// A mark of its own, since a workflow ID may look like a joined scope.
		where, mark = joinParts(f.Scope), childMark
	}
	if s == ScopeExecution {
		return kindExecution + mark, where, f.ExecutionID()
	}
	return kindWorkflowID + mark, where, f.Position()
}

func lineageOf(info sdkactivity.Info, f *wire.Facts) string {
	if f.Lineage == "" || f.Lineage == info.WorkflowExecution.RunID {
		return info.WorkflowExecution.RunID
	}
	return strings.Clone(f.Lineage) // a record may outlive its header, of which this is a part
}

func originOf(info sdkactivity.Info) store.Origin {
	o := store.Origin{
		Namespace:    info.Namespace,
		WorkflowID:   info.WorkflowExecution.ID,
		RunID:        info.WorkflowExecution.RunID,
		ActivityID:   info.ActivityID,
		ActivityType: info.ActivityType.Name,
		ScheduledAt:  info.ScheduledTime,
		Attempt:      int(info.Attempt),
	}
	if o.RunID == "" {
		o.RunID = info.ActivityRunID
	}
	if !info.IsLocalActivity {
		// A local activity's run and activity ID are no identity: after a
		// failed workflow task the same pair can stand for another call.
		o.Invocation = invocation(o.RunID, o.ActivityID, info.ScheduledTime)
	}
	return o
}

func invocation(runID, activityID string, scheduled time.Time) string {
	text := append(append(append(append(make([]byte, 0, 128), runID...), '/'), activityID...), '/')
	return string(strconv.AppendInt(text, scheduled.UnixNano(), 10))
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }
