package activity

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"

	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// Handle names one execution whose result comes from outside the activity:
// everything that [CompleteAsync] needs in another process. It marshals as text,
// and so as a string in JSON. Whoever has it can complete the call: treat its
// text as a secret. What String returns may be logged.
type Handle struct{ f handleFields }

// handleVersion is the version of a handle's text.
const handleVersion = 1

// handleFields is what a handle's text carries.
type handleFields struct {
	Version int `json:"v"`
	// Key and Token name the execution; without a record there are none.
	Key   string `json:"key,omitempty"`
	Token string `json:"token,omitempty"`
	// EffectBefore is what the execution restores if it ends without an effect.
	EffectBefore bool `json:"effect_before,omitempty"`
	// Where the activity stands at Temporal. RunID is the activity's own run
	// where there is no workflow.
	Namespace  string `json:"namespace"`
	WorkflowID string `json:"workflow_id,omitempty"`
	RunID      string `json:"run_id"`
	ActivityID string `json:"activity_id"`
	// What the converters want to know.
	WorkflowType string `json:"workflow_type,omitempty"`
	ActivityType string `json:"activity_type"`
	TaskQueue    string `json:"task_queue,omitempty"`
	// What the policy and the retry policy say about results and errors.
	MaxResultBytes int      `json:"max_result_bytes,omitempty"`
	NonRetryable   []string `json:"non_retryable_error_types,omitempty"`
	// The worker's converters, by the names of their types, where they are not
	// Temporal's defaults.
	DataConverter    string `json:"data_converter,omitempty"`
	FailureConverter string `json:"failure_converter,omitempty"`
}

// PendingHandle returns the handle of the execution that ctx belongs to, for an
// activity that returns Temporal's activity.ErrResultPending and leaves it to somebody
// outside to call [CompleteAsync]. Hand it over before the body returns. In an
// activity that is not deduplicated the handle completes it at Temporal, and
// records nothing. It panics outside an activity, and in a local one, which
// nobody outside can complete.
func PendingHandle(ctx context.Context) Handle {
	if !sdkactivity.IsActivity(ctx) {
		panic("dedupe: PendingHandle was called outside an activity")
	}
	info := sdkactivity.GetInfo(ctx)
	if info.IsLocalActivity {
		panic("dedupe: PendingHandle was called in a local activity, which cannot be completed from outside")
	}
	f := handleFields{
		Version: handleVersion, Namespace: info.Namespace, WorkflowID: info.WorkflowExecution.ID, RunID: info.WorkflowExecution.RunID,
		ActivityID: info.ActivityID, ActivityType: info.ActivityType.Name, TaskQueue: info.TaskQueue,
	}
	if f.RunID == "" {
		f.RunID = info.ActivityRunID
	}
	if info.WorkflowType != nil {
		f.WorkflowType = info.WorkflowType.Name
	}
	if info.RetryPolicy != nil {
		f.NonRetryable = info.RetryPolicy.NonRetryableErrorTypes
	}
	if e := executionFrom(ctx); e != nil {
		e = e.root()
		f.DataConverter, f.FailureConverter = e.i.encoding.names()
		f.MaxResultBytes = e.policy.MaxResultBytes
		if e.kept != nil {
			f.Key, f.Token, f.EffectBefore = e.kept.Key, e.kept.Token.String(), e.effectBefore
		}
	}
	return Handle{f}
}

// String names the call by its short key, or by its activity where it has no
// record.
func (h Handle) String() string {
	if h.f.Key == "" {
		return fmt.Sprintf("activity %s of workflow %s, not deduplicated", h.f.ActivityID, h.f.WorkflowID)
	}
	return ShortKey(h.f.Key)
}

// MarshalText implements encoding.TextMarshaler. The text is safe in a URL.
func (h Handle) MarshalText() ([]byte, error) {
	b, err := json.Marshal(h.f)
	if err != nil {
		return nil, fmt.Errorf("dedupe: handle: %w", err)
	}
	return []byte(base64.RawURLEncoding.EncodeToString(b)), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *Handle) UnmarshalText(text []byte) error {
	b, err := base64.RawURLEncoding.DecodeString(string(text))
	var f handleFields
	if err == nil {
		err = json.Unmarshal(b, &f)
	}
	if err != nil {
		return fmt.Errorf("dedupe: handle cannot be read: %w", err)
	}
	if err := f.validate(); err != nil {
		return err
	}
	h.f = f
	return nil
}

func (f handleFields) validate() error {
	switch _, err := store.ParseToken(f.Token); {
	case f.Version == 0:
		return fmt.Errorf("dedupe: handle is empty: take one from PendingHandle")
	case f.Version != handleVersion:
		return fmt.Errorf("dedupe: handle has version %d, this release knows %d", f.Version, handleVersion)
	case f.Namespace == "" || f.ActivityID == "" || f.RunID == "":
		return fmt.Errorf("dedupe: handle names no activity")
	case f.Key != "" && err != nil:
		return fmt.Errorf("dedupe: handle cannot be read: %w", err)
	}
	return nil
}

// names returns the names of the converters' types, empty for Temporal's defaults.
func (c encoding) names() (data, failing string) {
	return nameUnless(c.data, converter.GetDefaultDataConverter()), nameUnless(c.failing, temporal.GetDefaultFailureConverter())
}

func nameUnless(value, standard any) string {
	if v := reflect.ValueOf(value); v.Comparable() && value == standard {
		return ""
	}
	return fmt.Sprintf("%T", value)
}
