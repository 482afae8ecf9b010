package store

import "time"

// RecordVersion is the version of a record's meaning that this package writes
// and understands. [Claim] refuses records of a later one.
const RecordVersion = 1

// MaxKeyBytes is the length that no key may exceed. Postgres refuses index
// entries of more than about 2,700 bytes, after the fact; this is far below.
const MaxKeyBytes = 512

// Status tells whether a record has an outcome.
type Status string

// The states of a record.
const (
	// StatusInProgress: no outcome is known. The lease tells whether somebody works on it.
	StatusInProgress Status = "in_progress"
	// StatusCompleted: the call has a result, or a [Tombstone] in its place.
	StatusCompleted Status = "completed"
	// StatusFailed: the last execution ended with an error.
	StatusFailed Status = "failed"
)

// TakeoverPolicy says what happens to a record without an outcome whose
// execution may have had an effect. It is recorded at acquisition.
type TakeoverPolicy string

// The takeover policies.
const (
	// Reexecute runs the body again, with the same provider key.
	Reexecute TakeoverPolicy = "reexecute"
	// Refuse answers that the outcome is unknown until an operator resolves it.
	Refuse TakeoverPolicy = "refuse"
	// Verify asks the policy's verifier how the earlier execution ended.
	Verify TakeoverPolicy = "verify"
)

// Tombstone says why a settled record has no result to replay.
type Tombstone string

// The tombstones.
const (
	// TombstoneResultTooLarge: the body succeeded, but its result was over the limit.
	TombstoneResultTooLarge Tombstone = "result_too_large"
	// TombstonePurged: an operator removed the result.
	TombstonePurged Tombstone = "purged"
)

// Origin tells where a call comes from. Only Invocation and Lineage decide
// anything; the rest is for people.
type Origin struct {
	// Lineage names the chain of runs that the call belongs to.
	Lineage string
	// Invocation identifies one scheduling of the call at Temporal, as
	// RunID/ActivityID/UnixNano. Empty: it has no identity, and arguments are
	// always compared.
	Invocation string
	// Namespace, WorkflowID, RunID, ActivityID and ActivityType are Temporal's.
	Namespace, WorkflowID, RunID, ActivityID, ActivityType string
	// ScheduledAt is when Temporal scheduled the activity.
	ScheduledAt time.Time
	// Attempt is Temporal's number of the attempt.
	Attempt int
	// Owner is the identity of the worker.
	Owner string
	// TraceParent is the W3C traceparent of the execution; empty without tracing.
	TraceParent string
}

// Record is what the store remembers of one call.
type Record struct {
	// Key is the call's identity.
	Key string
	// Version is the version of the record's meaning: [RecordVersion] when this
	// package wrote it.
	Version int
	// Status tells whether there is an outcome.
	Status Status
	// Hash is the fingerprint of the arguments, v1:<secret id>:<hex>.
	Hash string
	// Token is the one of the latest acquisition, kept after settlement.
	Token Token
	// Policy is the takeover policy of the latest acquisition.
	Policy TakeoverPolicy
	// EffectPossible: an effect may exist that no result tells of.
	EffectPossible bool
	// Held: nobody knows the outcome, and an operator must say.
	Held bool
	// Pending: the body has returned, and somebody outside completes the call.
	Pending bool
	// NonRetryable: the failure was the author's definite word.
	NonRetryable bool
	// Generation moves when the provider must see a new idempotency key.
	Generation int
	// Acquisitions counts the executions that owned the record.
	Acquisitions int
	// LeaseLeft is what was left of the lease when the store read the record,
	// by the store's clock. Zero or less: it is over.
	LeaseLeft time.Duration
	// Result holds the encoded result of a completed record; nil when the
	// result has no payload, empty but not nil when it is empty.
	Result []byte
	// ResultSize is the size of the encoded result in bytes.
	ResultSize int64
	// Tombstone says why there is no result.
	Tombstone Tombstone
	// Failure holds the encoded failure of a failed record.
	Failure []byte
	// CreatedAt, UpdatedAt and ExpiresAt are the store's times. Retention is
	// over at ExpiresAt.
	CreatedAt, UpdatedAt, ExpiresAt time.Time

	Origin
}

// LeaseLive tells whether an execution owned the record when it was read.
func (r Record) LeaseLive() bool { return r.Status == StatusInProgress && r.LeaseLeft > 0 }
