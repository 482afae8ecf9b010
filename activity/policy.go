package activity

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// AnyActivity stands in [Options].Policies for the activity types that have no
// policy of their own.
const AnyActivity = "*"

// Scope says over what a call keeps its identity.
type Scope string

// The scopes.
const (
	// ScopeWorkflowID: the n-th call of its type in the workflow ID, counted
	// anew after each continue-as-new and for each cron run. Survives retries,
	// crashes, resets and workflow retries. The workflow ID names the operation.
	ScopeWorkflowID Scope = "workflow_id"
	// ScopeExecution: as above within one execution. Survives retries, crashes
	// and resets; a workflow retry, continue-as-new and a fresh start run again.
	ScopeExecution Scope = "execution"
	// ScopeRun: within one run. Survives activity retries and crashes.
	ScopeRun Scope = "run"
)

// OnStoreError says what a call does when the store cannot be reached.
type OnStoreError string

// The answers to a store that cannot be reached.
const (
	// FailClosed answers [ErrTypeStoreUnavailable]; the body does not run.
	FailClosed OnStoreError = "fail_closed"
	// RunUnprotected runs the body without a record: counted, logged, and
	// marked on the span. It can run twice.
	RunUnprotected OnStoreError = "run_unprotected"
)

// Policy says how the calls of an activity type are deduplicated. The zero
// value is a useful policy.
type Policy struct {
	// Off exempts the activity type: its calls are not deduplicated. For types
	// that [AnyActivity] would otherwise cover.
	Off bool
	// Scope is what a call keeps its identity over. Defaults to ScopeWorkflowID.
	Scope Scope
	// Retention is how long a record is kept after its attempt's deadline.
	// Defaults to 7 days: a weekend without workers must not lose a charge.
	Retention time.Duration
	// Takeover says what happens when an execution ended without a result and
	// an effect is possible. Defaults to store.Reexecute.
	Takeover store.TakeoverPolicy
	// Verify tells how an earlier execution ended; needed, and used, under
	// store.Verify only.
	Verify func(ctx context.Context, request VerifyRequest) (Verification, error)
	// VerifyTimeout bounds one call of Verify, whose context ends then. A verifier
	// that ignores this is left behind, and what it answers late counts for nothing.
	// Defaults to 10 s.
	VerifyTimeout time.Duration
	// OnOtherExecution is the answer to a record that another execution of the
	// workflow ID left: store.RefuseOther (default) or store.ReplayOther.
	OnOtherExecution store.OtherExecution
	// RequireHeader refuses calls that carry no header of the workflow side,
	// instead of deduplicating only the attempts of one scheduling.
	RequireHeader bool
	// Fingerprint gives the bytes that tell two requests apart, in place of the
	// canonical form of the arguments. For types whose content JSON cannot see.
	Fingerprint func(args []any) ([]byte, error)
	// IsFinal tells whether a result is one to remember. A result that is not
	// ("not yet", "on hold") is returned, and the call can run again. Defaults
	// to every result being final.
	IsFinal func(result any) bool
	// MaxResultBytes is the size of an encoded result beyond which the call
	// fails with [ErrTypeResultTooLarge]. Defaults to 2 MiB, Temporal's own
	// limit; negative is no limit.
	MaxResultBytes int
	// WaitLimit is how long a call waits inside its attempt for another owner
	// before it comes back later; at most a tenth of start-to-close. A local
	// activity's first attempt waits on. Defaults to 10 s.
	WaitLimit time.Duration
	// MaxOverrun is how long the lease is kept for a body that runs on past its
	// deadline. Defaults to twice start-to-close, between 1 min and 1 h.
	MaxOverrun time.Duration
	// OnStoreError is the answer to a store that cannot be reached. Defaults to
	// FailClosed.
	OnStoreError OnStoreError
	// Source says where the policy stands if not in code, such as
	// dedupe.yaml:12; config.Config.Apply sets it. A policy that has one may name
	// an activity type that is not registered, which is then logged, because
	// several workers can share a file; and Verify is asked for only where the
	// type is registered. Defaults to code.
	Source string
}

// The defaults of a policy.
const (
	DefaultRetention      = 7 * 24 * time.Hour
	DefaultVerifyTimeout  = 10 * time.Second
	DefaultMaxResultBytes = 2 << 20
	DefaultWaitLimit      = 10 * time.Second
)

// withDefaults fills what the zero value leaves open.
func (p Policy) withDefaults() Policy {
	p.Scope = cmp.Or(p.Scope, ScopeWorkflowID)
	p.Retention = cmp.Or(p.Retention, DefaultRetention)
	p.Takeover = cmp.Or(p.Takeover, store.Reexecute)
	p.OnOtherExecution = cmp.Or(p.OnOtherExecution, store.RefuseOther)
	p.OnStoreError = cmp.Or(p.OnStoreError, FailClosed)
	p.VerifyTimeout = cmp.Or(p.VerifyTimeout, DefaultVerifyTimeout)
	p.MaxResultBytes = cmp.Or(p.MaxResultBytes, DefaultMaxResultBytes)
	p.WaitLimit = cmp.Or(p.WaitLimit, DefaultWaitLimit)
	return p
}

// validate tells what is wrong with the policy, naming the field.
func (p Policy) validate() error {
	retention := p.withDefaults().Retention
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"Retention", p.Retention}, {"VerifyTimeout", p.VerifyTimeout},
		{"WaitLimit", p.WaitLimit}, {"MaxOverrun", p.MaxOverrun},
	} {
		switch {
		case d.value < 0:
			return fmt.Errorf("%s is negative: %v", d.name, d.value)
		case d.value > retention:
			return fmt.Errorf("%s of %v is longer than Retention of %v: the record could be gone before", d.name, d.value, retention)
		}
	}
	if p.Retention != 0 && p.Retention < time.Minute {
		return fmt.Errorf("Retention of %v is shorter than a minute: a retry could outlive its record", p.Retention)
	}
	switch p.Scope {
	case "", ScopeWorkflowID, ScopeExecution, ScopeRun:
	default:
		return fmt.Errorf("Scope has no value %q", p.Scope)
	}
	switch p.OnOtherExecution {
	case "", store.RefuseOther, store.ReplayOther:
	default:
		return fmt.Errorf("OnOtherExecution has no value %q", p.OnOtherExecution)
	}
	switch p.OnStoreError {
	case "", FailClosed, RunUnprotected:
	default:
		return fmt.Errorf("OnStoreError has no value %q", p.OnStoreError)
	}
	switch p.Takeover {
	case "", store.Reexecute, store.Refuse:
		if p.Verify != nil {
			return fmt.Errorf("Verify is set, but Takeover is not %q", store.Verify)
		}
	case store.Verify:
		if p.Verify == nil && p.Source == "" {
			return fmt.Errorf("Takeover is %q, but Verify is not set", store.Verify)
		}
	default:
		return fmt.Errorf("Takeover has no value %q", p.Takeover)
	}
	return nil
}
