package telemetry

import "slices"

// Outcome is how an execution, or something that it did, ended, as an attribute.
type Outcome string

// The outcomes of executions. Each ends with one of them.
const (
	Executed           Outcome = "executed"
	Failed             Outcome = "failed"
	NotFinal           Outcome = "not_final"
	Panicked           Outcome = "panicked"
	Pending            Outcome = "pending"
	Verified           Outcome = "verified"
	Replayed           Outcome = "replayed"
	ReplayedOther      Outcome = "replayed_other_execution"
	ReplayedFailure    Outcome = "replayed_failure"
	Superseded         Outcome = "superseded"
	Conflict           Outcome = "conflict"
	OtherExecution     Outcome = "other_execution"
	FingerprintUnknown Outcome = "fingerprint_unknown"
	OutcomeUnknown     Outcome = "outcome_unknown"
	InFlight           Outcome = "in_flight"
	Canceled           Outcome = "canceled"
	DeadlinePassed     Outcome = "deadline_passed"
	StoreUnavailable   Outcome = "store_unavailable"
	StoreBusy          Outcome = "store_busy"
	Unprotected        Outcome = "unprotected"
	ResultTooLarge     Outcome = "result_too_large"
	RecordCorrupt      Outcome = "record_corrupt"
	RecordVersion      Outcome = "record_version"
	InvalidCall        Outcome = "invalid_call"
	NoFingerprint      Outcome = "no_fingerprint"
	HeaderRequired     Outcome = "header_required"
)

// The outcomes of completions from outside, beside Failed, Canceled and ResultTooLarge.
const (
	Completed  Outcome = "completed"
	NotWaiting Outcome = "not_waiting"
	Stale      Outcome = "stale"
	Incomplete Outcome = "incomplete"
)

// Meaning says of an outcome what happened. Wrong: somebody should look.
type Meaning struct {
	Outcome Outcome
	Text    string
	Wrong   bool
}

// Outcomes lists the outcomes of executions.
var Outcomes = []Meaning{
	{Executed, "The body ran, and its result is recorded.", false},
	{Failed, "The body ran and ended with an error.", false},
	{NotFinal, "The body ran, and the policy does not remember its result.", false},
	{Panicked, "The body panicked, or ended its goroutine.", true},
	{Pending, "The call is completed from outside.", false},
	{Verified, "The verifier knew the result; the body did not run.", false},
	{Replayed, "Answered with the recorded result; the body did not run.", false},
	{ReplayedOther, "The same, from a record that another execution of the workflow ID left.", false},
	{ReplayedFailure, "Answered with the recorded failure; the body did not run.", false},
	{Superseded, "Another execution took the call over while the body ran.", true},
	{Conflict, "Refused: the key was used for a different request.", true},
	{OtherExecution, "Refused: another execution of the workflow ID has made the call.", true},
	{FingerprintUnknown, "Sent back: the record's fingerprint cannot be compared.", true},
	{OutcomeUnknown, "Refused: nobody knows how an earlier execution ended, and the record is held.", true},
	{InFlight, "Sent back: another execution owns the call.", false},
	{Canceled, "Cancelled before the body began.", false},
	{DeadlinePassed, "The attempt's deadline was over before the body could begin.", true},
	{StoreUnavailable, "Sent back: the store cannot be reached.", true},
	{StoreBusy, "Sent back: too many executions talk to the store, or the record changes hands too fast.", true},
	{Unprotected, "The body ran without a record, as the policy allows while the store cannot be reached.", true},
	{ResultTooLarge, "The body succeeded, now or earlier, with a result over the limit.", true},
	{RecordCorrupt, "Refused: what is recorded cannot be read.", true},
	{RecordVersion, "Sent back: the record was written by a later release.", true},
	{InvalidCall, "Refused: the call cannot be recorded.", true},
	{NoFingerprint, "Refused: the arguments have no fingerprint.", true},
	{HeaderRequired, "Refused: the policy requires the header of the workflow side.", true},
}

// Completions lists the outcomes of completions from outside.
var Completions = []Meaning{
	{Completed, "Temporal was told the recorded result.", false},
	{Failed, "Temporal was told the recorded failure.", false},
	{Canceled, "Temporal was told that the activity was cancelled; the call is released.", false},
	{ResultTooLarge, "Temporal was told that the result is over the limit.", true},
	{NotWaiting, "The outcome is recorded, and Temporal does not wait for it.", false},
	{Stale, "Refused: another execution has the call, or it was settled otherwise.", true},
	{Incomplete, "Not everything was done: it is to be called again, or mended first.", true},
}

var wrong = func() map[Outcome]bool {
	m := map[Outcome]bool{}
	for _, o := range slices.Concat(Outcomes, Completions) {
		m[o.Outcome] = o.Wrong
	}
	return m
}()
