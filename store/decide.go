package store

import "slices"

// Action is what a call does about a record.
type Action string

// The actions.
const (
	// ActAcquire: own the record by compare-and-set and run the body.
	ActAcquire Action = "acquire"
	// ActVerify: own the record by compare-and-set and ask the verifier.
	ActVerify Action = "verify"
	// ActReplay: answer the recorded result.
	ActReplay Action = "replay"
	// ActReplayFailure: answer the recorded failure.
	ActReplayFailure Action = "replay_failure"
	// ActWait: another execution owns the record; see LeaseLeft.
	ActWait Action = "wait"
	// ActPending: somebody outside completes the call.
	ActPending Action = "pending"
	// ActConflict: refuse, the key was used for a different request.
	ActConflict Action = "conflict"
	// ActOther: refuse, the record belongs to another execution.
	ActOther Action = "other_execution"
	// ActUnknown: refuse, nobody knows whether the effect was made.
	ActUnknown Action = "outcome_unknown"
)

// Verdict is what Decide answers.
type Verdict struct {
	// Action is what the call does.
	Action Action
	// Other: the record belongs to another execution, and the call meets it all
	// the same.
	Other bool
}

// Decide tells what a call does about the record that stands under its key. It
// is the only place where this is decided, and it is atomic because the
// fingerprint, the lineage and the status of a record change only together with
// its token, which the compare-and-set names. The first match wins:
//
//	another lineage, unless nothing happened and nobody is at it  other (or go on, flagged)
//	fingerprint differs where there is, or may be, an outcome     conflict
//	completed                                                     replay
//	failed, non-retryable, same invocation                        replay the failure
//	failed otherwise, no effect possible or under Reexecute       acquire
//	in progress, lease live                                       wait, or pending
//	in progress, lease over, no effect possible                   acquire
//	lease over or failed, effect possible; or held                takeover policy
func Decide(found Record, r Reservation) Verdict {
	v := Verdict{}
	if r.OnOther != AnyOther && found.Lineage != r.Lineage && !free(found) {
		if r.OnOther != ReplayOther {
			return Verdict{Action: ActOther}
		}
		v.Other = true
	}
	if !sameInvocation(found, r) && protected(found) && !slices.Contains(r.Hashes, found.Hash) {
		v.Action = ActConflict
		return v
	}
	v.Action = act(found, r)
	return v
}

func act(found Record, r Reservation) Action {
	switch {
	case found.Status == StatusCompleted:
		return ActReplay
	case found.Status == StatusFailed && found.NonRetryable && sameInvocation(found, r):
		return ActReplayFailure
	case found.LeaseLive() && found.Pending:
		return ActPending
	case found.LeaseLive():
		return ActWait
	case found.EffectPossible || found.Held:
		return takeover(found)
	default:
		return ActAcquire
	}
}

// free tells whether a record protects nothing: its executions ended, or never
// began, without an effect. A call of another execution may have it.
func free(found Record) bool {
	return found.Status != StatusCompleted && !found.EffectPossible && !found.Held && !found.LeaseLive()
}

// takeover applies the policy that the record's last acquisition named. A held
// record waits for an operator under every policy but Verify, whose verifier
// may by now be able to tell.
func takeover(found Record) Action {
	switch {
	case found.Policy == Verify:
		return ActVerify
	case found.Policy == Reexecute && !found.Held:
		return ActAcquire
	default:
		return ActUnknown
	}
}

// protected tells whether other arguments than the record's must be refused. Only
// a failed or abandoned record that leaves no effect takes new ones: where one is
// possible, the provider may know the key of the first request already, and would
// answer the second with the first one's receipt.
func protected(found Record) bool {
	return found.Status == StatusCompleted || found.LeaseLive() || found.EffectPossible || found.Held
}

// sameInvocation tells whether the record was last acquired for the scheduling
// that the reservation belongs to, whose arguments are then equal by nature.
func sameInvocation(found Record, r Reservation) bool {
	return r.Invocation != "" && found.Invocation == r.Invocation
}
