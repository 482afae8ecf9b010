// Package wire is the header that carries a call's facts from the workflow side
// to the activity side, to continued runs and to children. It must not know
// policies, keys or stores, nor the Temporal SDK: only the payload type.
//
// A header's life: the workflow side fills in [Facts] and writes [Encode]'s
// payload under [HeaderKey]; Temporal stores it in history, in the clear; the
// reader takes it through [Decode], asks [ForActivity], [ForContinuation] or
// [ForChild] whether it is the addressee, and ignores it if not. The format is
// documented in docs/header.md so that other languages can write it.
package wire

// HeaderKey is the name of the one header field.
const HeaderKey = "temporal-dedupe"

// Version is the version of the format.
const Version = 1

// Kinds of addressee.
const (
	// ToActivity: for the activity that the header was scheduled with.
	ToActivity = "activity"
	// ToContinuation: for the run that continues the writer's run as new.
	ToContinuation = "continuation"
	// ToChild: for the child workflow that the header was started with.
	ToChild = "child"
)

// Facts is what the header carries. A reader ignores fields that it does not
// know and refuses a version that it does not know.
type Facts struct {
	// Version is the format's version. Encode sets it.
	Version int `json:"v"`
	// To is the kind of addressee.
	To string `json:"to"`
	// WorkflowID and RunID are the writer's. A header to an activity is meant
	// for activities of this workflow ID; one to a continuation for the run
	// that continues this run ID; one to a child for children of this workflow
	// ID.
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`

	// Scope identifies the execution whose calls are counted, where that is not
	// the workflow ID of the run: a child without an ID of its own stands in
	// its parent's scope. Elements: the outermost workflow ID, then for each
	// generation the parent's Position, the child's type and its CallName. A
	// long scope is the outermost workflow ID and a digest of the rest.
	Scope []string `json:"scope,omitempty"`
	// Input is a digest of what the children of the scope were started with. Where
	// they race, a place in the scope is another child's after a reset: the activity
	// side compares it as it does the call's own arguments.
	Input string `json:"input,omitempty"`
	// Lineage names the chain of runs: the first run's ID, or for a child
	// without an ID of its own the parent's lineage, the child's type and its
	// CallName.
	Lineage string `json:"lineage,omitempty"`
	// OriginalRunID is the writer's: equal over resets.
	OriginalRunID string `json:"original_run_id,omitempty"`
	// Execution names this one execution, equal over resets: OriginalRunID, or
	// in the first run of a child without an ID of its own the parent's
	// Execution, the child's type and its CallName (such a child's run IDs are
	// new after a reset of its parent).
	Execution string `json:"execution,omitempty"`
	// Chain is how many times the reader's execution was continued as new: to
	// an activity and to a child the writer's own count, to a continuation one
	// more. nil: not known.
	Chain *int `json:"chain,omitempty"`
	// Cron: the run belongs to a cron schedule, whose runs are executions of
	// their own.
	Cron bool `json:"cron,omitempty"`

	// Number counts the calls of one activity type, from 1; with Step, the
	// calls of that step; with Arguments, the calls with those arguments; with
	// both, the calls that share both.
	Number int `json:"n,omitempty"`
	// Step is the caller's name for the call.
	Step string `json:"step,omitempty"`
	// BusinessKey is the caller's identity for the operation. It comes before
	// Number, Step and Arguments.
	BusinessKey string `json:"business_key,omitempty"`
	// Function is the full name of a local activity's function under a BusinessKey,
	// where calls of all kinds are one: its type is the end of that name only. It is
	// compared as the arguments are. Empty: the call names a registered type.
	Function string `json:"function,omitempty"`
	// Arguments is the digest of the arguments where calls are counted by them.
	Arguments string `json:"arguments,omitempty"`
	// Uncountable says why a call that is to be counted by its arguments is
	// not. A local activity is then exempt; a regular one is refused, because
	// its author asked for it.
	Uncountable string `json:"uncountable,omitempty"`
	// Exempt: the call is not to be deduplicated. It comes before all else.
	Exempt bool `json:"exempt,omitempty"`
}
