package dedupe_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// plan is a workflow program, which one workflow carries out.
type plan struct {
	// Runs are what each run of the chain does before it continues as new.
	Runs []planRun
	// Listen: the workflow carries out what signals and updates tell it.
	Listen bool `json:",omitempty"`
}

// planRun is the program of one run.
type planRun struct {
	Do []action
	// Fail is how many attempts of the run fail in the end.
	Fail int32 `json:",omitempty"`
	// WithOptions: it continues as new by the other form of the call.
	WithOptions bool `json:",omitempty"`
}

// Kinds of action.
const (
	doCall     = "call"     // an activity, and wait for its answer
	doTogether = "together" // all branches, each in a coroutine of its own
	doFirst    = "first"    // the same, and cancel the others when the first is through
	doShuffle  = "shuffle"  // all branches, in an order that is another one in each execution
	doChild    = "child"    // a child workflow that carries out a plan
	doRest     = "rest"     // a timer
	doTrip     = "trip"     // panic, the first time
)

// action is one step of a program.
type action struct {
	Kind string
	// Type is the activity's or the child's.
	Type     string `json:",omitempty"`
	Local    bool   `json:",omitempty"`
	Step     string `json:",omitempty"`
	ByArgs   bool   `json:",omitempty"`
	Business string `json:",omitempty"`
	Exempt   bool   `json:",omitempty"`
	Asked    asked  `json:",omitzero"`
	Attempts int32  `json:",omitempty"`
	// Strict: the retry policy takes scripted failures for final ones.
	Strict bool `json:",omitempty"`
	// Beat: the activity has a heartbeat timeout.
	Beat bool `json:",omitempty"`
	// CancelAfter is when the call is cancelled, in milliseconds; 0 is never, and -1 before it is made.
	CancelAfter int `json:",omitempty"`
	// Linger: the workflow waits until a cancelled activity has ended.
	Linger   bool       `json:",omitempty"`
	Branches [][]action `json:",omitempty"`
	Child    *plan      `json:",omitempty"`
	ID       string     `json:",omitempty"` // of the child; empty is the SDK's own
	Millis   int        `json:",omitempty"`
}

// asked are the arguments of an activity. Script says what its bodies do, a letter for
// each that runs.
type asked struct {
	What   string
	Script string
	List   []int
}

func (a action) String() string {
	var b strings.Builder
	b.WriteString(a.Kind)
	switch a.Kind {
	case doCall:
		fmt.Fprintf(&b, " %s(%s %q %v)", a.Type, a.Asked.What, a.Asked.Script, a.Asked.List)
		for name, set := range map[string]bool{"local": a.Local, "step " + a.Step: a.Step != "", "by arguments": a.ByArgs,
			"business " + a.Business: a.Business != "", "exempt": a.Exempt, fmt.Sprint("cancel after ", a.CancelAfter): a.CancelAfter != 0} {
			if set {
				b.WriteString(", " + name)
			}
		}
	case doChild:
		fmt.Fprintf(&b, " %s id=%q step=%q args=%v %v", a.Type, a.ID, a.Step, a.ByArgs, a.Child.Runs)
	}
	if len(a.Branches) > 0 {
		fmt.Fprintf(&b, " %v", a.Branches)
	}
	return b.String()
}

// planner makes plans.
type planner struct {
	*rand.Rand
	names int
}

func one[T any](r *planner, of ...T) T { return of[r.IntN(len(of))] }

func (r *planner) oneIn(n int) bool { return r.IntN(n) == 0 }

func (r *planner) plan(depth int) plan {
	p := plan{Listen: depth == 0 && r.oneIn(2)}
	for range one(r, 1, 1, 1, 2, 3) {
		run := planRun{Do: r.actions(depth, 1+r.IntN(max(5-depth, 2))), WithOptions: r.oneIn(2)}
		if r.oneIn(4) {
			run.Fail = 1 + int32(r.IntN(2))
		}
		p.Runs = append(p.Runs, run)
	}
	return p
}

func (r *planner) actions(depth, n int) []action {
	actions := make([]action, n)
	for i := range actions {
		actions[i] = r.action(depth)
	}
	return actions
}

func (r *planner) action(depth int) action {
	if depth < 2 && r.oneIn(3) {
		switch k := one(r, doTogether, doTogether, doFirst, doShuffle, doShuffle, doChild, doChild); k {
		case doChild:
			return r.child(depth)
		default:
			a := action{Kind: k}
			for range 2 + r.IntN(3) {
				a.Branches = append(a.Branches, r.actions(depth+1, 1+r.IntN(2)))
			}
			return a
		}
	}
	switch r.IntN(14) {
	case 0:
		return action{Kind: doRest, Millis: r.IntN(30)}
	case 1:
		if r.oneIn(2) {
			return r.call()
		}
		r.names++
		return action{Kind: doTrip, ID: fmt.Sprint(r.names)}
	default:
		return r.call()
	}
}

func (r *planner) call() action {
	a := action{Kind: doCall, Type: one(r, append([]string{"wid", "wid", "wid2"}, exploredTypes...)...), Local: r.oneIn(4),
		Asked: asked{What: one(r, "a", "a", "b"), List: one(r, []int{}, []int{0}, []int{1})}, Attempts: one[int32](r, 1, 3, 5, 5)}
	if r.oneIn(3) {
		a.Asked.Script = one(r, "f", "ff", "n", "z", "Z", "p", "w", "q", "d", "D", "dd", "fz", "zf", "ffff", "nn", "zn", "a", "fa", "aa")
	}
	if r.oneIn(40) {
		a.Asked.Script = one(r, "l", "lf", "fl")
	}
	switch r.IntN(12) {
	case 0, 1:
		a.Step = one(r, "one", "two")
	case 2, 3:
		a.ByArgs = true
	case 4:
		a.Business = one(r, "k1", "k2")
	case 5:
		a.Exempt = true
	case 6:
		a.Step, a.ByArgs = one(r, "one", "two"), true
	}
	a.Strict, a.Beat = r.oneIn(10), r.oneIn(4)
	if r.oneIn(8) {
		a.CancelAfter, a.Linger = one(r, -1, 1, 5, 10, 15, 20, 30), r.oneIn(2)
	}
	return a
}

func (r *planner) child(depth int) action {
	p := r.plan(depth + one(r, 1, 2, 2))
	a := action{Kind: doChild, Type: one(r, "kid", "kid2"), Child: &p}
	switch r.IntN(6) {
	case 0:
		a.ID = one(r, "x", "y")
	case 1:
		a.Step = one(r, "one", "two")
	case 2:
		a.ByArgs = true
	}
	if r.oneIn(6) {
		a.CancelAfter, a.Linger = 5+r.IntN(60), r.oneIn(2)
	}
	return a
}
