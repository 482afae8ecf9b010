package activity

import (
	"context"
	"fmt"
	"slices"
	"sync"

	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/telemetry"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/wire"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// Interceptor is the activity half of the deduplication. One serves any number
// of workers; [Interceptor.Drain] ends its background work.
type Interceptor struct {
	interceptor.WorkerInterceptorBase

	options    Options
	store      store.Store // Options.Store, measured
	telemetry  *telemetry.Telemetry
	encoding   encoding
	keeper     *keeper
	gate       gate
	background background
	logged     onceOnly
}

// NewInterceptor returns an interceptor. Its error names the field that is wrong.
func NewInterceptor(options Options) (*Interceptor, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	options = options.withDefaults()
	t, err := telemetry.New(options.TracerProvider, options.MeterProvider)
	if err != nil {
		return nil, fmt.Errorf("dedupe: telemetry: %w", err)
	}
	i := &Interceptor{
		options:   options,
		store:     t.Store(options.Store),
		telemetry: t,
		encoding:  encoding{data: options.DataConverter, failing: options.FailureConverter},
		gate:      newGate(options.MaxConcurrentStoreCalls, options.StoreQueueTimeout),
	}
	i.keeper = newKeeper(i.store, t, options.StoreCallTimeout, options.Logger)
	return i, nil
}

// Drain waits until the settlements that are in the background by now have ended,
// which Options.SettleTimeout bounds, or until ctx is done. It may be called while
// other workers go on with the interceptor.
func (i *Interceptor) Drain(ctx context.Context) error {
	if !i.background.wait(ctx) {
		return fmt.Errorf("dedupe: records are still being settled: %w", context.Cause(ctx))
	}
	return nil
}

// InterceptActivity implements interceptor.WorkerInterceptor. It must not fail:
// Temporal would hear nothing of an error here, and wait for the timeout.
func (i *Interceptor) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	in := &inbound{i: i}
	in.Next = next
	return in
}

type inbound struct {
	interceptor.ActivityInboundInterceptorBase
	i *Interceptor
}

// ExecuteActivity deduplicates the execution if its type has a policy.
func (a *inbound) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	info := sdkactivity.GetInfo(ctx)
	policy, ok := a.i.options.policyFor(info.ActivityType.Name)
	if !ok || executionFrom(ctx) != nil || wire.OfSession(info.ActivityType.Name) {
		return a.pass(ctx, in)
	}
	if info.IsLocalActivity && a.i.options.nameless(info.ActivityType.Name) {
		a.i.warnOnce(ctx, "dedupe: local activity is not deduplicated, its function has no name of its own",
			info.ActivityType.Name, func() []any {
				return []any{"Reason", "others have this name too; a policy that names it deduplicates it"}
			})
		return a.pass(ctx, in)
	}
	var facts *wire.Facts // nil: none to use, and err says why
	written, err := a.facts(ctx, info.WorkflowExecution.ID)
	if err == nil {
		facts = &written
	}
	switch {
	case facts != nil && facts.Exempt:
		if facts.Uncountable != "" {
			a.i.warnOnce(ctx, "dedupe: local activity is not deduplicated, its arguments cannot be counted",
				info.ActivityType.Name, func() []any { return []any{"Reason", facts.Uncountable} })
		}
		return a.pass(ctx, in)
	case facts == nil && info.WorkflowExecution.ID != "":
		if policy.RequireHeader {
			a.refused(ctx, info, telemetry.SourceInvocation, telemetry.HeaderRequired)
			return nil, refuse(ErrTypeHeaderRequired, "activity type %q requires the header of the workflow side: %v; "+
				"register the plugin (dedupe.NewWorkflowPlugin) on the workers that run the workflow", info.ActivityType.Name, err)
		}
	}
	if facts != nil && facts.Uncountable != "" && facts.BusinessKey == "" {
		a.refused(ctx, info, telemetry.SourceWorkflow, telemetry.NoFingerprint)
		return nil, refuse(ErrTypeNoFingerprint, "calls of activity type %q cannot be numbered by their arguments: %s; "+
			"use a step key (dedupe.WithStepKey)", info.ActivityType.Name, facts.Uncountable)
	}
	c := identify(a.i.options.KeyPrefix, info, facts, policy)
	if c.source == telemetry.SourceInvocation {
		a.i.warnOnce(ctx, "dedupe: no usable header, only the attempts of one scheduling are deduplicated, and a reset runs the call again: "+
			"register the plugin where the workflow runs, or refuse such calls with Policy.RequireHeader (require_header)",
			info.ActivityType.Name, func() []any { return []any{"Reason", err.Error(), "DedupeKey", ShortKey(c.key)} })
	}
	form, err := formOf(policy, info, facts, in.Args)
	if err != nil {
		if info.IsLocalActivity {
			a.i.warnOnce(ctx, "dedupe: local activity is not deduplicated, its arguments have no fingerprint",
				info.ActivityType.Name, func() []any { return []any{"Reason", withoutValues(err)} })
			return a.pass(ctx, in)
		}
		a.refused(ctx, info, c.source, telemetry.NoFingerprint)
		return nil, refuse(ErrTypeNoFingerprint, "the arguments of activity type %q have no fingerprint: %s; "+
			"give its policy a Fingerprint function, or the type a DedupeFingerprint method", info.ActivityType.Name, withoutValues(err))
	}
	a.warnRetention(ctx, info, policy, c)
	e := newExecution(ctx, a.i, info, policy, c, form)
	return e.observe(withSentRequests(ctx, &e.sent), func(ctx context.Context) (any, error) { return e.execute(ctx, a.Next, in) })
}

// formOf is what tells the call from others under its key.
func formOf(policy Policy, info sdkactivity.Info, facts *wire.Facts, args []any) (form []byte, err error) {
	counted := facts != nil && facts.BusinessKey == ""
	if counted && info.IsLocalActivity && facts.Arguments != "" && !fingerprinted(policy, args) {
		// The digest that the workflow side has made. The arguments themselves are
		// those of the workflow, and an earlier attempt may have changed them. But
		// somebody's own fingerprint may tell more than the digest does.
		form = []byte(facts.Arguments)
	} else {
		form, err = canonicalForm(policy, args)
	}
	switch {
	case err != nil || facts == nil:
	case counted && facts.Input != "":
		form = slices.Concat(form, []byte{0}, []byte(facts.Input))
	case facts.Function != "":
		form = slices.Concat(form, []byte{0}, []byte(facts.Function))
	}
	return form, err
}

// warnRetention tells of calls that can be tried again when their records are gone,
// as after a pause of all workers. A schedule-to-close that no option sets arrives
// as the timeout of the workflow's run, and that of a local activity as its
// start-to-close; 0 is unlimited.
func (a *inbound) warnRetention(ctx context.Context, info sdkactivity.Info, p Policy, c call) {
	if d := info.ScheduleToCloseTimeout; d > 0 && d <= p.Retention {
		return
	}
	a.i.warnOnce(ctx, "dedupe: a retry could come after the record is gone and run the body again, "+
		"set ScheduleToCloseTimeout to the policy's Retention at most", info.ActivityType.Name, func() []any {
		until := "unlimited"
		if d := info.ScheduleToCloseTimeout; d > 0 {
			until = d.String()
		}
		return []any{"ScheduleToCloseTimeout", until, "Retention", p.Retention.String(), "DedupeKey", ShortKey(c.key)}
	})
}

// pass runs an activity that is not deduplicated, or that another interceptor of ours
// deduplicates.
func (a *inbound) pass(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	result, err := a.Next.ExecuteActivity(withSentRequests(ctx, new(sentRequests)), in)
	if executionFrom(ctx) == nil {
		err, _ = withoutMark(err)
	}
	return result, err
}

// refused counts a call that ends before it has a record to ask for.
func (a *inbound) refused(ctx context.Context, info sdkactivity.Info, s telemetry.Source, outcome telemetry.Outcome) {
	a.i.telemetry.Type(info.Namespace, info.ActivityType.Name).Ended(ctx, string(s), outcome, 0)
}

// facts reads the header. Its error says why there is none to use.
func (a *inbound) facts(ctx context.Context, workflowID string) (wire.Facts, error) {
	payload, ok := interceptor.Header(ctx)[wire.HeaderKey]
	if !ok {
		return wire.Facts{}, fmt.Errorf("no header %q: the workflow side is not registered where the workflow runs", wire.HeaderKey)
	}
	facts, err := wire.Decode(payload)
	if err == nil {
		err = wire.ForActivity(facts, workflowID)
	}
	return facts, err
}

// loggedOnce is what is logged once: a message about an activity type.
type loggedOnce struct{ message, activityType string }

// maxLogged bounds what is remembered: a dynamic activity has as many types as its
// callers make up. Later ones are not logged.
const maxLogged = 1000

// onceOnly remembers what was logged.
type onceOnly struct {
	mu   sync.RWMutex
	seen map[loggedOnce]struct{}
}

// first tells whether it is time to log something. Nearly always it is not: some lines
// are asked for by every call of a type.
func (o *onceOnly) first(l loggedOnce) bool {
	o.mu.RLock()
	_, seen := o.seen[l]
	full := len(o.seen) == maxLogged
	o.mu.RUnlock()
	if seen || full {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, seen := o.seen[l]; seen || len(o.seen) == maxLogged {
		return false
	}
	if o.seen == nil {
		o.seen = map[loggedOnce]struct{}{}
	}
	o.seen[l] = struct{}{}
	return true
}

// warnOnce logs a message once for an activity type. What else it says is asked for
// only then: the same calls come here each time.
func (i *Interceptor) warnOnce(ctx context.Context, message, activityType string, more func() []any) {
	if i.logged.first(loggedOnce{message, activityType}) {
		sdkactivity.GetLogger(ctx).Warn(message, append([]any{"ActivityType", activityType}, more()...)...)
	}
}
