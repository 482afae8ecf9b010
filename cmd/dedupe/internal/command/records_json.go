package command

import (
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// entryJSON is a record as programs read it. Members are added, never renamed.
type entryJSON struct {
	Key            string       `json:"key"`
	ShortKey       string       `json:"short_key"`
	Mark           string       `json:"mark"`
	State          string       `json:"state"`
	Status         store.Status `json:"status"`
	EffectPossible bool         `json:"effect_possible"`
	Held           bool         `json:"held"`
	HeldSince      *time.Time   `json:"held_since,omitempty"`
	Pending        bool         `json:"pending"`
	NonRetryable   bool         `json:"non_retryable"`
	TakeoverPolicy string       `json:"takeover_policy"`
	LeaseLive      bool         `json:"lease_live"`
	LeaseLeft      string       `json:"lease_left,omitempty"`
	Owner          string       `json:"owner"`
	Attempt        int          `json:"attempt"`
	Acquisitions   int          `json:"acquisitions"`
	Namespace      string       `json:"namespace"`
	WorkflowID     string       `json:"workflow_id"`
	RunID          string       `json:"run_id"`
	ActivityID     string       `json:"activity_id"`
	ActivityType   string       `json:"activity_type"`
	ScheduledAt    *time.Time   `json:"scheduled_at,omitempty"`
	FirstSeen      time.Time    `json:"first_seen"`
	UpdatedAt      time.Time    `json:"updated_at"`
	ExpiresAt      time.Time    `json:"expires_at"`
	Fingerprint    string       `json:"fingerprint"`
	Lineage        string       `json:"lineage"`
	Invocation     string       `json:"invocation"`
	Generation     int          `json:"generation"`
	ProviderKey    string       `json:"provider_key"`
	TraceParent    string       `json:"trace_parent,omitempty"`
	Tombstone      string       `json:"tombstone,omitempty"`
	HasResult      bool         `json:"has_result"`
	ResultSize     int64        `json:"result_size"`
	FailureSize    int64        `json:"failure_size"`
	RecordVersion  int          `json:"record_version"`
}

func newEntryJSON(e store.Entry) entryJSON {
	j := entryJSON{
		Key: e.Key, ShortKey: activity.ShortKey(e.Key), Mark: e.Seen().Mark(), State: state(e), Status: e.Status,
		EffectPossible: e.EffectPossible, Held: e.Held, HeldSince: moment(e.HeldSince), Pending: e.Pending,
		NonRetryable: e.NonRetryable, TakeoverPolicy: string(e.Policy), LeaseLive: e.LeaseLive(),
		Owner: e.Owner, Attempt: e.Attempt, Acquisitions: e.Acquisitions,
		Namespace: e.Namespace, WorkflowID: e.WorkflowID, RunID: e.RunID, ActivityID: e.ActivityID, ActivityType: e.ActivityType,
		ScheduledAt: moment(e.ScheduledAt), FirstSeen: e.CreatedAt, UpdatedAt: e.UpdatedAt, ExpiresAt: e.ExpiresAt,
		Fingerprint: e.Hash, Lineage: e.Lineage, Invocation: e.Invocation,
		Generation: e.Generation, ProviderKey: string(activity.RecordProviderKey(e.Key, e.Generation)),
		TraceParent: e.TraceParent, Tombstone: string(e.Tombstone),
		HasResult: e.HasResult, ResultSize: e.ResultSize, FailureSize: e.FailureSize, RecordVersion: e.Version,
	}
	if e.LeaseLive() {
		j.LeaseLeft = e.LeaseLeft.Round(time.Millisecond).String()
	}
	return j
}

func newEntriesJSON(entries []store.Entry) []entryJSON {
	list := make([]entryJSON, len(entries))
	for i, e := range entries {
		list[i] = newEntryJSON(e)
	}
	return list
}

// moment leaves out a time that is not there.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// auditJSON is a row of the audit trail as programs read it.
type auditJSON struct {
	ID     int64     `json:"id"`
	At     time.Time `json:"at"`
	Key    string    `json:"key"`
	Verb   string    `json:"verb"`
	Actor  string    `json:"actor"`
	Reason string    `json:"reason"`
	Before document  `json:"before"`
	After  document  `json:"after"`
}

// document is JSON that the store has, or null.
type document []byte

// MarshalJSON returns the document as it is.
func (d document) MarshalJSON() ([]byte, error) {
	if d == nil {
		return []byte("null"), nil
	}
	return d, nil
}

func newTrailJSON(trail []store.Audit) []auditJSON {
	out := make([]auditJSON, len(trail))
	for i, t := range trail {
		out[i] = auditJSON{t.ID, t.At, t.Key, t.Verb, t.Actor, t.Reason, t.Before, t.After}
	}
	return out
}
