package worker

import (
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// registered is what is known of one worker: the activity types that are
// registered on it, and how it stops.
type registered struct {
	mu      sync.Mutex // guards types and dynamic, which registration changes
	types   map[string]bool
	dynamic bool

	stopTimeout time.Duration
	stray       bool // no client has told its converters
	started     bool
}

// watch notes every activity that is registered from now on.
func (r *registered) watch(o *worker.PluginConfigureWorkerRegistryOptions) {
	onActivity, onDynamic := o.OnRegisterActivity, o.OnRegisterDynamicActivity
	o.OnRegisterActivity = func(a any, options sdkactivity.RegisterOptions) {
		if onActivity != nil {
			onActivity(a, options)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, name := range activityNames(a, options) {
			r.types[name] = true
		}
	}
	o.OnRegisterDynamicActivity = func(a any, options sdkactivity.DynamicRegisterOptions) {
		if onDynamic != nil {
			onDynamic(a, options)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.dynamic = true
	}
}

// runsActivities tells a worker that has activities from one for workflows alone.
func (r *registered) runsActivities() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dynamic || len(r.types) > 0
}

// activityNames are the types under which the SDK registers a function or the
// methods of a struct.
func activityNames(a any, options sdkactivity.RegisterOptions) []string {
	v := reflect.ValueOf(a)
	switch {
	case !v.IsValid():
		return nil
	case v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.Struct:
		var names []string
		for i := range v.NumMethod() {
			names = append(names, options.Name+v.Type().Method(i).Name)
		}
		return names
	case options.Name != "":
		return []string{options.Name}
	case v.Kind() == reflect.Func:
		full := runtime.FuncForPC(v.Pointer()).Name()
		return []string{strings.TrimSuffix(full[strings.LastIndex(full, ".")+1:], "-fm")}
	default:
		return nil
	}
}

// checkPolicies refuses a policy for a type that none of the plugin's workers
// has registered: a typo must not leave a payment unprotected. Workers without
// activities, or with a dynamic one, tell nothing.
func checkPolicies(policies map[string]activity.Policy, workers []*registered) error {
	types := map[string]bool{}
	for _, r := range workers {
		r.mu.Lock()
		maps.Copy(types, r.types)
		dynamic := r.dynamic
		r.mu.Unlock()
		if dynamic {
			return nil
		}
	}
	if len(types) == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(policies)) {
		if name != activity.AnyActivity && !types[name] {
			return fmt.Errorf("dedupe: Options.Policies[%q] names an activity type that is not registered; registered are %s. "+
				"Make all workers of the client, and register their activities, before the first one starts",
				name, strings.Join(slices.Sorted(maps.Keys(types)), ", "))
		}
	}
	return nil
}

// checkStopTimeout warns, or refuses, when every deployment would leave
// outcomes that nobody knows: with a stop timeout of zero the process ends while
// bodies still run.
func checkStopTimeout(policies map[string]activity.Policy, timeout time.Duration, log *slog.Logger) error {
	if timeout > 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(policies)) {
		if p := policies[name]; !p.Off && (p.Takeover == store.Refuse || p.Takeover == store.Verify) {
			return fmt.Errorf("dedupe: Options.Policies[%q].Takeover is %q, but worker.Options.WorkerStopTimeout is 0: "+
				"every deployment would leave calls whose outcome nobody knows; set it longer than the activity takes", name, p.Takeover)
		}
	}
	log.Warn("dedupe: worker.Options.WorkerStopTimeout is 0, so a deployment interrupts running activities; they run again")
	return nil
}
