package activity

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/owner"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/telemetry"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// Types of the application errors that leave the interceptor, as a workflow
// finds them in (*temporal.ApplicationError).Type and people in Temporal's UI.
// Go values do not survive that border.
const (
	// ErrTypeConflict: the key was used for a different request. Final; nothing
	// was written. Give the calls step keys, or number them by arguments.
	ErrTypeConflict = "dedupe.Conflict"
	// ErrTypeOtherExecution: another execution of the workflow ID has made this
	// call. Final; nothing was written. Use a new workflow ID, another scope, or
	// OnOtherExecution.
	ErrTypeOtherExecution = "dedupe.OtherExecution"
	// ErrTypeOutcomeUnknown: an effect is possible, and the policy forbids to
	// run again. Final; the record is held until an operator resolves it.
	ErrTypeOutcomeUnknown = "dedupe.OutcomeUnknown"
	// ErrTypeInFlight: another execution owns the call. Retried by itself.
	ErrTypeInFlight = "dedupe.InFlight"
	// ErrTypeLeaseLost: another execution took the call over while this one
	// ran; it settles the call. Retried by itself.
	ErrTypeLeaseLost = "dedupe.LeaseLost"
	// ErrTypeStoreUnavailable: the store could not be reached, the body did not
	// run. Retried by itself.
	ErrTypeStoreUnavailable = "dedupe.StoreUnavailable"
	// ErrTypeStoreBusy: too many executions talk to the store, or this record
	// changes hands too fast. The body did not run. Retried by itself.
	ErrTypeStoreBusy = "dedupe.StoreBusy"
	// ErrTypeRecordVersion: the record was written by a later release. The body
	// did not run. Retried; upgrade the workers.
	ErrTypeRecordVersion = "dedupe.RecordVersion"
	// ErrTypeFingerprintUnknown: the record's fingerprint has a version or a
	// secret that this worker does not know, so that the requests cannot be
	// compared. The body did not run. Retried; upgrade the worker, or give it the
	// secret.
	ErrTypeFingerprintUnknown = "dedupe.FingerprintUnknown"
	// ErrTypeRecordCorrupt: the stored result or failure cannot be read. Final;
	// the body did not run.
	ErrTypeRecordCorrupt = "dedupe.RecordCorrupt"
	// ErrTypeResultTooLarge: the body succeeded, but its result is over the
	// limit. Final; the body is not run again.
	ErrTypeResultTooLarge = "dedupe.ResultTooLarge"
	// ErrTypeNoFingerprint: the arguments have no canonical form. Final; the
	// body did not run. Give the policy or the type a fingerprint function.
	ErrTypeNoFingerprint = "dedupe.NoFingerprint"
	// ErrTypeInvalidCall: the call cannot be recorded, since an ID in it is not
	// text, say. Final; the body did not run.
	ErrTypeInvalidCall = "dedupe.InvalidCall"
	// ErrTypeHeaderRequired: the policy wants a header, and the call has none.
	// Final; the body did not run.
	ErrTypeHeaderRequired = "dedupe.HeaderRequired"
	// ErrTypeDeadlinePassed: the attempt's deadline was over before the body
	// could start. Nothing was written.
	ErrTypeDeadlinePassed = "dedupe.DeadlinePassed"
	// ErrTypeSerialization: a transaction of InTx lost against a concurrent one,
	// and nothing of it stands. Retried by itself.
	ErrTypeSerialization = "dedupe.Serialization"
)

// ErrLeaseLost is the cause (context.Cause) with which a body's context is
// cancelled when another execution has taken its record over. What the body
// still does is not recorded: stop.
var ErrLeaseLost = owner.ErrLeaseLost

// Errors of [Do], found with errors.Is; the first one is InTx's too.
var (
	// ErrNotDeduplicated: the call has no record to work with. The function did
	// not run.
	ErrNotDeduplicated = owner.ErrNotDeduplicated
	// ErrDuplicateEffect: the name was used before in this execution. The function
	// did not run.
	ErrDuplicateEffect = errors.New("dedupe: an effect of this name was made before in this execution")
)

// refuse makes an error that Temporal does not retry.
func refuse(errType, format string, args ...any) error {
	return temporal.NewApplicationErrorWithOptions(fmt.Sprintf("dedupe: "+format, args...), errType,
		temporal.ApplicationErrorOptions{NonRetryable: true})
}

// later makes a benign error that Temporal retries after the delay. It must
// stay at the top: wrapped, it would lose delay and category.
func later(errType string, delay time.Duration, cause error, format string, args ...any) error {
	return temporal.NewApplicationErrorWithOptions(fmt.Sprintf("dedupe: "+format, args...), errType,
		temporal.ApplicationErrorOptions{
			NextRetryDelay: delay,
			Cause:          cause,
			Category:       temporal.ApplicationErrorCategoryBenign,
		})
}

// conflictError tells two requests under one key apart without showing either.
func conflictError(c call, found store.Record, hashes []string) error {
	hint := "the activity's arguments changed under a key that stays"
	switch {
	case c.source == telemetry.SourceEffect:
		hint = "the effect of this name was made for other arguments: name it after what makes it another one, " +
			"or say with DoOptions.Fingerprint what counts"
	case c.source == telemetry.SourceBusiness:
		hint = "the business key already names an operation with other arguments"
	case strings.Contains(c.kind, childMark) && found.RunID != c.origin.RunID:
		hint = "this child workflow was started with other arguments than the one that the record is of, or makes its calls in another order: " +
			"tag dedupe:\"-\" what may differ in the child's arguments, or tell children, or calls, that change places apart " +
			"by a step key (dedupe.WithStepKey) or by their arguments (dedupe.WithNumberByArguments)"
	case found.RunID != c.origin.RunID:
		hint = "the record comes from another run, whose calls were made in another order: " +
			"give the call a step key (dedupe.WithStepKey) or number it by arguments (dedupe.WithNumberByArguments)"
	}
	return refuse(ErrTypeConflict,
		"key %q was reused for a different request: recorded fingerprint %s, this request has %s; "+
			"the record is %s, first seen %s in run %s; nothing was written; %s",
		c.key, found.Hash, hashes[0], found.Status, found.CreatedAt.UTC().Format(time.RFC3339), found.RunID, hint)
}

// fingerprintUnknown says that a request cannot be compared with the record.
func fingerprintUnknown(found store.Record, hashes []string) string {
	return fmt.Sprintf("the recorded fingerprint %s cannot be compared with this request: %s; the record is %s, first seen %s in run %s; "+
		"the body did not run",
		found.Hash, incomparable(found.Hash, hashes), found.Status, found.CreatedAt.UTC().Format(time.RFC3339), found.RunID)
}

func otherExecutionError(c call, found store.Record) error {
	return refuse(ErrTypeOtherExecution,
		"workflow %q has already made this call in another execution: key %q belongs to run %s (lineage %s, %s, first seen %s), "+
			"this is run %s (lineage %s); nothing was written. Start a new operation under a new workflow ID; "+
			"or set the policy's OnOtherExecution to replay if the workflow ID is the operation, "+
			"or its Scope to the execution if each execution is an operation of its own",
		c.origin.WorkflowID, c.key, found.RunID, found.Lineage, found.Status,
		found.CreatedAt.UTC().Format(time.RFC3339), c.origin.RunID, c.origin.Lineage)
}

func outcomeUnknownError(c call, found store.Record, why string) error {
	return refuse(ErrTypeOutcomeUnknown,
		"nobody knows whether the call %q had its effect: %s (run %s, first seen %s). "+
			"The policy forbids to run it again; the record is held until an operator resolves it",
		c.key, why, found.RunID, found.CreatedAt.UTC().Format(time.RFC3339))
}

func recordGoneError(key string) error {
	return refuse(ErrTypeOutcomeUnknown,
		"nobody knows whether the call %q had its effect: it failed, and its record is gone, as after a restore of the database. "+
			"The policy forbids to run it again", key)
}

func resultTooLargeError(key string, size int64, limit int) error {
	return refuse(ErrTypeResultTooLarge,
		"the result of %q is %d bytes, over the limit of %d; the activity succeeded and is not run again", key, size, limit)
}
