package dedupe_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/temporal"

	dedupe "github.com/seed5aa7bdf6/temporal-dedupe"
)

// reply is what an activity answers: everything that must tell it from others.
type reply struct {
	Type  string
	Asked asked
	Nonce string // of the body
	Draft bool   // not final
}

// tag is a call's identity by the model's own count. It travels with the call in a
// header of its own, past the arguments.
type tag struct {
	World string // the scenario
	// ID is the identity of an activity call, or the scope of a child's.
	ID string
	// Request is what the call asks for.
	Request            string
	Lineage, Execution string
	// Input is what the children around the call were started with.
	Input string
	// Free: the call is not deduplicated. Shared: every lineage may have its record.
	Free, Shared bool
	// Strict: the retry policy takes scripted failures for final ones.
	Strict      bool
	Type, RunID string
}

// bodyRun is one run of an activity's body.
type bodyRun struct {
	tag
	nonce string
	how   byte // how it ended, a letter of a script or one of those below; 0: it has not
}

const (
	endedWell  = 's'
	endedDraft = 'q'
	endedEarly = 'x' // its context was done
)

// unknown tells whether an effect is possible that no result tells of.
func (b *bodyRun) unknown() bool {
	switch b.how {
	case 'f', 'd':
		return !b.Strict
	case 'p', endedEarly:
		return true
	}
	return false
}

// refusal is a call that was refused, to be judged in the end.
type refusal struct {
	tag
	errType, message string
}

// world is what the model knows about a scenario: a workflow ID, all its runs and
// their children.
type world struct {
	id          string
	begun       time.Time
	async       dedupe.AsyncOptions
	completions sync.WaitGroup // of calls that are completed from outside

	mu       sync.Mutex
	bodies   map[string][]*bodyRun // by identity, in their order
	nonces   map[string]*bodyRun
	effects  map[string]int // of Do, by identity and request
	refusals map[refusal]bool
	runs     map[string]map[string]bool // of each workflow ID
	trips    map[string]bool
	answers  int
	findings []string
	trace    []string
}

func newWorld(id string) *world {
	return &world{
		id: id, begun: time.Now(), bodies: map[string][]*bodyRun{}, nonces: map[string]*bodyRun{}, effects: map[string]int{},
		refusals: map[refusal]bool{}, runs: map[string]map[string]bool{}, trips: map[string]bool{},
	}
}

// note writes down what happens, for those who look for a cause.
func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.noted(format, args...)
}

func (w *world) noted(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf("%6.3f ", time.Since(w.begun).Seconds())+fmt.Sprintf(format, args...))
}

// wrong notes a promise that was broken.
func (w *world) wrong(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.found(format, args...)
}

func (w *world) found(format string, args ...any) {
	w.findings = append(w.findings, fmt.Sprintf(format, args...))
	w.noted("WRONG: "+format, args...)
}

// begin notes a body, and returns it and how many ran before it for the same call.
func (w *world) begin(t tag, nonce string) (b *bodyRun, earlier int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	b = &bodyRun{tag: t, nonce: nonce}
	before := w.bodies[t.ID]
	w.bodies[t.ID], w.nonces[nonce] = append(before, b), b
	w.noted("body %s of %s asked %s in run %s", nonce, t.ID, t.Request, t.RunID)
	if t.Free {
		return b, len(before)
	}
	for _, old := range before {
		if old.how == endedWell {
			w.found("ran again: %s has an answer, of body %s, asked %s in run %s", t.ID, old.nonce, old.Request, old.RunID)
		}
	}
	if n := len(before); n > 0 && t.Type == "ref" && before[n-1].unknown() {
		w.found("ran again under Refuse: %s ended as %c", t.ID, before[n-1].how)
	}
	return b, len(before)
}

// end notes how a body ended.
func (w *world) end(b *bodyRun, how byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	b.how = how
	w.noted("body %s ended as %c", b.nonce, how)
}

// effect counts an effect that was made.
func (w *world) effect(t tag) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.effects[t.ID+t.Request]++
	if w.effects[t.ID+t.Request] > 1 && !t.Free {
		w.found("effect made again: %s", t.ID)
	}
}

// answered checks an answer that a workflow got.
func (w *world) answered(t tag, a asked, got reply) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers++
	w.noted("answer %s for %s in run %s", got.Nonce, t.ID, t.RunID)
	b := w.nonces[got.Nonce]
	switch {
	case got.Type != t.Type || !sameAsked(got.Asked, a):
		w.found("wrong answer: %s asked %s %v and got the answer to %s %v", t.ID, t.Type, a, got.Type, got.Asked)
	case b == nil:
		w.found("answer from nowhere: %s got %v", t.ID, got)
	case t.Free:
	case t.Type == "run" && !t.Shared && b.Execution == t.Execution && strings.Replace(b.ID, b.RunID, t.RunID, 1) == t.ID:
		// From the part of the history that a reset keeps.
	case b.ID != t.ID:
		w.found("shared record: %s got the answer of %s", t.ID, b.ID)
	case b.Request != t.Request:
		w.found("wrong answer: %s asked %s and got the answer to %s", t.ID, t.Request, b.Request)
	case b.Lineage != t.Lineage && !t.Shared:
		w.found("answer of another execution: %s of lineage %s got that of %s", t.ID, t.Lineage, b.Lineage)
	}
}

func sameAsked(a, b asked) bool {
	return a.What == b.What && a.Script == b.Script && slices.Equal(a.List, b.List)
}

// refused notes an error of ours that a workflow got.
func (w *world) refused(t tag, app *temporal.ApplicationError) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.noted("refused %s for %s: %s", app.Type(), t.ID, app.Message())
	w.refusals[refusal{t, app.Type(), app.Message()}] = true
}

// judge looks at what was refused, once all is over. It returns what there was, by kinds,
// what was wrong, and how it came.
func (w *world) judge() (counts map[string]int, findings, trace []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	counts = map[string]int{"answers": w.answers, "bodies": len(w.nonces)}
	for r := range w.refusals {
		why := w.reason(r)
		counts["refused with "+r.errType+", "+why]++
		if why == "" {
			w.found("false alarm: %s for %s asked %s: %s", r.errType, r.ID, r.Request, r.message)
		}
	}
	for _, runs := range w.runs {
		counts["runs"] += len(runs)
	}
	return counts, w.findings, w.trace
}

// reason says why a call was rightly refused.
func (w *world) reason(r refusal) string {
	some := func(is func(*bodyRun) bool) bool { return slices.ContainsFunc(w.bodies[r.ID], is) }
	other := func(b *bodyRun) bool { return b.Request != r.Request }
	switch r.errType {
	case dedupe.ErrTypeConflict:
		switch {
		case !some(other):
		case strings.HasPrefix(r.ID, business):
			return "one business key for two requests"
		case !some(func(b *bodyRun) bool { return other(b) && b.RunID != r.RunID }):
			// Within one run no two calls have one identity.
		case some(func(b *bodyRun) bool { return other(b) && b.Lineage != r.Lineage }):
			return "another execution asked for something else"
		case some(func(b *bodyRun) bool { return other(b) && b.Input != r.Input }):
			return "another child has its place"
		default:
			return "another order of calls"
		}
	case dedupe.ErrTypeOtherExecution:
		if !r.Shared && some(func(b *bodyRun) bool { return b.Lineage != r.Lineage }) {
			return "another execution has made it"
		}
	case dedupe.ErrTypeOutcomeUnknown:
		if r.Type == "ref" && some((*bodyRun).unknown) {
			return "nobody knows"
		}
	}
	return ""
}

// sees notes a run of a workflow.
func (w *world) sees(id, run string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.runs[id] == nil {
		w.runs[id] = map[string]bool{}
	}
	w.runs[id][run] = true
}

// trip tells whether something happens for the first time.
func (w *world) trip(what string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := !w.trips[what]
	w.trips[what] = true
	return first
}

// runsOf returns the runs of a workflow that were seen, and ids the workflows.
func (w *world) runsOf(id string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.runs[id]))
}

func (w *world) ids() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.runs))
}
