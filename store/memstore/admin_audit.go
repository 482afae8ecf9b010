package memstore

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// auditRow is a row as the trail keeps it: without result and failure.
type auditRow struct {
	CreatedAt      time.Time `json:"created_at"`
	UpdatedAt      time.Time `json:"updated_at"`
	ExpiresAt      time.Time `json:"expires_at"`
	LeaseExpiresAt time.Time `json:"lease_expires_at"`
	Held           bool      `json:"held"`
	ResultSize     int64     `json:"result_size"`
	Generation     int       `json:"generation"`
	Acquisitions   int       `json:"acquisitions"`
	Attempt        int       `json:"attempt"`
	RecordVersion  int       `json:"record_version"`
	EffectPossible bool      `json:"effect_possible"`
	Pending        bool      `json:"pending"`
	NonRetryable   bool      `json:"non_retryable"`
	OwnerToken     string    `json:"owner_token"`
	Key            string    `json:"key"`
	Status         string    `json:"status"`
	RequestHash    string    `json:"request_hash"`
	TakeoverPolicy string    `json:"takeover_policy"`
	Lineage        string    `json:"lineage"`
	Invocation     string    `json:"invocation"`
	Namespace      string    `json:"namespace"`
	WorkflowID     string    `json:"workflow_id"`
	RunID          string    `json:"run_id"`
	ActivityID     string    `json:"activity_id"`
	ActivityType   string    `json:"activity_type"`
	Owner          string    `json:"owner"`
	TraceParent    string    `json:"trace_parent"`
	Tombstone      string    `json:"tombstone"`
	HasResult      bool      `json:"has_result"`
	FailureSize    int       `json:"failure_size"`
}

func (r *row) document() []byte {
	c := r.record
	text, _ := json.Marshal(auditRow{ // cannot fail: texts, numbers and times
		CreatedAt: wall(c.CreatedAt), UpdatedAt: wall(c.UpdatedAt), ExpiresAt: wall(c.ExpiresAt), LeaseExpiresAt: wall(r.leaseEnd),
		Held: c.Held, ResultSize: c.ResultSize, Generation: c.Generation, Acquisitions: c.Acquisitions, Attempt: c.Attempt,
		RecordVersion: c.Version, EffectPossible: c.EffectPossible, Pending: c.Pending, NonRetryable: c.NonRetryable,
		OwnerToken: c.Token.String(), Key: c.Key, Status: string(c.Status), RequestHash: c.Hash, TakeoverPolicy: string(c.Policy),
		Lineage: c.Lineage, Invocation: c.Invocation, Namespace: c.Namespace, WorkflowID: c.WorkflowID, RunID: c.RunID,
		ActivityID: c.ActivityID, ActivityType: c.ActivityType, Owner: c.Owner, TraceParent: c.TraceParent,
		Tombstone: string(c.Tombstone), HasResult: c.Result != nil, FailureSize: len(c.Failure),
	})
	return text
}

// deleted tells whether the trail has this very deletion: an answer that was lost.
func (s *Store) deleted(order store.Order, c store.Change) bool {
	return slices.ContainsFunc(s.trail, func(t store.Audit) bool {
		var before auditRow
		return t.Key == c.Key && t.Verb == string(store.VerbDelete) && t.Actor == order.Actor && t.Reason == order.Reason &&
			json.Unmarshal(t.Before, &before) == nil && before.OwnerToken == c.Seen.Token.String()
	})
}

// Audit implements [store.Admin].
func (a *Admin) Audit(ctx context.Context, key string, limit int) ([]store.Audit, error) {
	_, err := a.store.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer a.store.mu.Unlock()
	var trail []store.Audit
	for _, t := range slices.Backward(a.store.trail) {
		if len(trail) < limit && (key == "" || t.Key == key) {
			trail = append(trail, t)
		}
	}
	return trail, nil
}
