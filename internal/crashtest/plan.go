package crashtest

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// planVar is the environment variable that makes a process a worker.
const planVar = "DEDUPE_CRASHTEST_WORKER"

// plan is what a worker process is told.
type plan struct {
	TemporalAddress, Namespace, TaskQueue string

	// DatabaseURL is where the records are; empty without deduplication.
	DatabaseURL string
	// HouseURL is where the parent answers, Keys which provider is used.
	HouseURL string
	Keys     Keys
	Policy   store.TakeoverPolicy
	// Victim is the order that dies in Window, if there is one.
	Victim string
	Window Window
	// Stall is how long the victim's first body runs, whatever its context says.
	Stall time.Duration
	// Pause is for how long the victim's worker is stopped during its first body.
	Pause pause
}

// environment returns the plan as a variable of a worker's environment.
func (p plan) environment() (string, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("crashtest: plan of a worker: %w", err)
	}
	return planVar + "=" + string(text), nil
}

// planFromEnvironment returns the plan, if this process is a worker.
func planFromEnvironment() (p plan, found bool, err error) {
	text, found := os.LookupEnv(planVar)
	if !found {
		return plan{}, false, nil
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return plan{}, true, fmt.Errorf("crashtest: %s: %w", planVar, err)
	}
	return p, true, nil
}

// dies tells whether what carries an identity, a key or a task token of Temporal,
// belongs to the victim, and this is the window. Both contain the workflow ID as
// it is, and all IDs of a lane have the same length.
func (p plan) dies(w Window, identity string) bool {
	return p.Window == w && p.Victim != "" && strings.Contains(identity, p.Victim)
}
