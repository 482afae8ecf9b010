package worker

import (
	"maps"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"time"

	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
)

// registered is what is known of one worker: the activity types that are
// registered on it, and how it stops.
type registered struct {
	mu      sync.Mutex // guards types and dynamic, which registration changes
	types   map[string]bool
	dynamic bool

	stopTimeout time.Duration
	stray       bool // the converters of no client are known
	started     bool
	running     bool // StartWorker has succeeded
}

func newRegistered() *registered { return &registered{types: map[string]bool{}} }

// add adds what is registered on another worker.
func (r *registered) add(other *registered) {
	f := fleetOf([]*registered{other})
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.Copy(r.types, f.types)
	r.dynamic = r.dynamic || f.dynamic
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
	case v.Kind() == reflect.Pointer && v.Type().Elem().Kind() == reflect.Struct: // a nil one too
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
