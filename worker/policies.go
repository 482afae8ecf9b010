package worker

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// fleet is what all workers of a plugin have registered between them, those that have
// stopped among them: what runs elsewhere meanwhile is no typo.
type fleet struct {
	types   map[string]bool
	dynamic bool // an activity that answers to any type
}

func fleetOf(workers []*registered) fleet {
	f := fleet{types: map[string]bool{}}
	for _, r := range workers {
		r.mu.Lock()
		maps.Copy(f.types, r.types)
		f.dynamic = f.dynamic || r.dynamic
		r.mu.Unlock()
	}
	return f
}

// has tells whether the type can be met on one of the workers.
func (f fleet) has(name string) bool {
	return f.dynamic || f.types[name] || name == activity.AnyActivity && len(f.types) > 0
}

// complete tells whether an absent type means anything: workers without activities, or
// with a dynamic one, say nothing about types.
func (f fleet) complete() bool { return !f.dynamic && len(f.types) > 0 }

// checkPolicies refuses a policy for a type that none of the plugin's workers
// has registered: a typo must not leave a payment unprotected. Policies from a
// file are returned instead, to be warned of, since several workers can share
// the file.
func checkPolicies(policies map[string]activity.Policy, f fleet) (strangers []string, err error) {
	for _, name := range slices.Sorted(maps.Keys(policies)) {
		switch p := policies[name]; {
		case f.has(name):
			if err := checkVerifier(name, p); err != nil {
				return nil, err
			}
		case !f.complete() || name == activity.AnyActivity:
		case p.Source != "":
			strangers = append(strangers, name)
		default:
			return nil, fmt.Errorf("dedupe: Options.Policies[%q] names an activity type that is not registered; registered are %s. "+
				"Make all workers of the client, and register their activities, before the first one starts; "+
				"also the functions that only run as local activities, which Temporal itself does not ask for",
				name, strings.Join(slices.Sorted(maps.Keys(f.types)), ", "))
		}
	}
	return strangers, nil
}

// checkVerifier refuses a policy from a file that asks a verifier which code
// does not have. For policies in code, Options.Validate does.
func checkVerifier(name string, p activity.Policy) error {
	if p.Off || p.Takeover != store.Verify || p.Verify != nil {
		return nil
	}
	return fmt.Errorf("dedupe: %s: the takeover of activity type %q is %s, but Options.Policies[%q].Verify is not set: "+
		"give the function in code, or another takeover in the file", p.Source, name, store.Verify, name)
}

// checkStopTimeout warns, or refuses, when every deployment would leave
// outcomes that nobody knows: with a stop timeout of zero the process ends while
// bodies still run.
func checkStopTimeout(policies map[string]activity.Policy, f fleet, timeout time.Duration, log *slog.Logger) error {
	if timeout > 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(policies)) {
		p := policies[name]
		if p.Off || p.Takeover != store.Refuse && p.Takeover != store.Verify || p.Source != "" && !f.has(name) {
			continue
		}
		return fmt.Errorf("dedupe: Options.Policies[%q].Takeover is %q, but worker.Options.WorkerStopTimeout is 0: "+
			"every deployment would leave calls whose outcome nobody knows; set it longer than the activity takes", name, p.Takeover)
	}
	log.Warn("dedupe: worker.Options.WorkerStopTimeout is 0, so a deployment interrupts running activities; they run again")
	return nil
}

// logCoverage says of each activity type of a worker without a policy of its own
// whether it is deduplicated, one line each.
func logCoverage(policies map[string]activity.Policy, r *registered, log *slog.Logger) {
	rest, covered := policies[activity.AnyActivity]
	covered = covered && !rest.Off
	r.mu.Lock()
	names := slices.Sorted(maps.Keys(r.types))
	r.mu.Unlock()
	for _, name := range names {
		if _, own := policies[name]; own {
			continue
		}
		if covered {
			log.Info(`dedupe: activity type has no policy of its own; the one for "*" covers it`, "ActivityType", name)
		} else {
			log.Info("dedupe: activity type has no policy and is not deduplicated", "ActivityType", name)
		}
	}
}
