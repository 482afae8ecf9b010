package dedupe_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/types/known/structpb"

	dedupe "github.com/seed5aa7bdf6/temporal-dedupe"
)

// mark stands in results and failures, to be looked for where it must not be.
const mark = "PLAINTEXT-MARK"

// limits are numbers that are easily bent.
type limits struct {
	Least, Most int64
	Unsigned    uint64
	Any         any
}

// gives makes a body that returns a value.
func gives[T any](value T) func(context.Context) (T, error) {
	return func(context.Context) (T, error) { return value, nil }
}

// results are answers that are easily lost or bent.
func results() []row {
	message, _ := structpb.NewStruct(map[string]any{"a": []any{mark, 1.5, nil}}) // one member: maps of messages have no order
	raw, _ := converter.GetDefaultDataConverter().ToPayload(map[string]int{"raw": 1})
	raw.Metadata["of"] = []byte("the author's own")
	return []row{
		{name: "no result", body: func(context.Context) error { return nil }},
		{name: "nil pointer", body: gives[*string](nil)},
		{name: "typed nil in an interface", body: gives[any]((*string)(nil))},
		{name: "untyped nil", body: gives[any](nil)},
		{name: "nil slice", body: gives[[]string](nil)},
		{name: "empty slice", body: gives([]string{})},
		{name: "nil bytes", body: gives[[]byte](nil)},
		{name: "empty bytes", body: gives([]byte{})},
		{name: "nil map", body: gives[map[string]int](nil)},
		{name: "empty map", body: gives(map[string]int{})},
		{name: "zero", body: gives(0)},
		{name: "empty text", body: gives("")},
		{name: "false", body: gives(false)},
		{name: "empty struct", body: gives(struct{}{})},
		{name: "2^53+1 in any", body: gives[any](map[string]any{"n": int64(1<<53 + 1)})},
		{name: "extremes of int64", body: gives(limits{math.MinInt64, math.MaxInt64, math.MaxUint64, uint64(math.MaxUint64)})},
		{name: "bytes that are no text", body: gives([]byte{0xff, 0xfe, 0, 0xc3})},
		{name: "text that is no UTF-8", body: gives("a\xffb")},
		{name: "NUL in text", body: gives("a\x00b" + mark)},
		{name: "1 MB of bytes", body: gives(bytes.Repeat([]byte{0, 0xff, 'x', '\\'}, 1<<18))},
		{name: "message", body: gives(message)},
		{name: "message of Temporal", body: gives(&commonpb.WorkflowExecution{WorkflowId: mark, RunId: "r"})},
		{name: "nil message", body: gives[*structpb.Struct](nil)},
		{name: "raw value", body: gives(converter.NewRawValue(raw))},
		{name: "with arguments", args: []any{map[string]any{"b": 1.5, "a": mark}, []byte{0xff}},
			body: func(_ context.Context, m map[string]any, b []byte) (string, error) { return fmt.Sprint(m, b), nil }}, //nolint:staticcheck // the bytes as numbers: they are no text
		{name: "dynamic activity", args: []any{mark, 7}, dynamic: true,
			body: func(_ context.Context, args converter.EncodedValues) (string, error) {
				var s string
				var n int
				err := args.Get(&s, &n)
				return fmt.Sprint(s, n), err
			}},
		{name: "result beside an error", body: func(context.Context) (string, error) { return "half", final("X") }, final: true},
	}
}

// fails makes a body that returns an error.
func fails(err error) func(context.Context) error {
	return func(context.Context) error { return err }
}

// final is an error that Temporal does not retry.
func final(errType string, details ...any) error {
	return temporal.NewNonRetryableApplicationError("no: "+mark, errType, nil, details...)
}

// fromFailure is an error that came out of a failure, as those of other
// workflows and activities do.
func fromFailure(f *failurepb.Failure) error {
	return temporal.GetDefaultFailureConverter().FailureToError(f)
}

// failures are answers of bodies that fail.
func failures() []row {
	cause := errors.Join(errors.New("one"), errors.New("two"))
	chain := fmt.Errorf("outer %s: %w", mark, temporal.NewApplicationErrorWithCause("middle", "Middle", fmt.Errorf("inner: %w", cause), "detail"))
	stacked := &failurepb.Failure{
		Message: "from another workflow", Source: "JavaSDK", StackTrace: "at Payment.java:7",
		Cause:       &failurepb.Failure{Message: "deeper", FailureInfo: &failurepb.Failure_ApplicationFailureInfo{ApplicationFailureInfo: &failurepb.ApplicationFailureInfo{Type: "Deep"}}},
		FailureInfo: &failurepb.Failure_ApplicationFailureInfo{ApplicationFailureInfo: &failurepb.ApplicationFailureInfo{Type: "Foreign", NonRetryable: true}},
	}
	rows := []row{
		{name: "type, message and details", body: fails(final("Declined", "detail "+mark, 7, nil, []byte{0xff}, map[string]any{"a": 1})), final: true},
		{name: "NUL in message and type", body: fails(temporal.NewNonRetryableApplicationError("a\x00b", "t\x00", nil, "d\x00")), final: true},
		{name: "no message, no type", body: fails(temporal.NewNonRetryableApplicationError("", "", nil)), final: true},
		{name: "chain of causes", body: fails(temporal.NewNonRetryableApplicationError("top", "Top", chain)), final: true},
		{name: "category and delay", body: fails(temporal.NewApplicationErrorWithOptions("x", "X", temporal.ApplicationErrorOptions{
			NonRetryable: true, Category: temporal.ApplicationErrorCategoryBenign, NextRetryDelay: 7 * time.Second, Cause: errors.New("c")})), final: true},
		{name: "type listed in the retry policy", body: fails(temporal.NewApplicationError("x", "Listed", "d")), final: true},
		{name: "failure of another SDK with its stack", body: fails(fromFailure(stacked)), final: true},
		{name: "PanicError as a type of one's own", body: fails(final("PanicError", "detail")), final: true},
		{name: "PanicError by name, retryable", body: fails(temporal.NewApplicationError("x", "PanicError")), final: true},
		{name: "error of the author's own", body: fails(&declined{"51", "card"})},
		{name: "plain error", body: fails(errors.New("try again " + mark))},
		{name: "deadline of the body's own", body: fails(context.DeadlineExceeded)},
		{name: "cancelled by nobody", body: fails(context.Canceled)},
		{name: "cancellation of the body's own", body: fails(temporal.NewCanceledError("d"))},
		{name: "wrapped timeout", body: fails(fmt.Errorf("x: %w", temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_HEARTBEAT, nil)))},
		{name: "result that cannot be encoded", body: gives[any](func() {})},
	}
	for errType, err := range map[string]error{
		"TimeoutError":    temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_START_TO_CLOSE, errors.New("last"), "heartbeat "+mark),
		"TerminatedError": fromFailure(&failurepb.Failure{Message: "x", FailureInfo: &failurepb.Failure_TerminatedFailureInfo{TerminatedFailureInfo: &failurepb.TerminatedFailureInfo{}}}),
		"ServerError":     fromFailure(&failurepb.Failure{Message: "x", FailureInfo: &failurepb.Failure_ServerFailureInfo{ServerFailureInfo: &failurepb.ServerFailureInfo{}}}),
		"ActivityError": fromFailure(&failurepb.Failure{Message: "x", Cause: stacked, FailureInfo: &failurepb.Failure_ActivityFailureInfo{
			ActivityFailureInfo: &failurepb.ActivityFailureInfo{ActivityType: &commonpb.ActivityType{Name: "Other"}, ActivityId: "5", Identity: "w"}}}),
	} {
		rows = append(rows, row{name: "top-level " + errType, body: fails(err), final: true, hangs: true, check: func(t *testing.T, got told) {
			t.Helper()
			require.Equal(t, errType, got.failure.GetApplicationFailureInfo().GetType())
			require.NotNil(t, got.failure.GetCause(), "the original is the cause")
			require.Nil(t, got.failure.GetCause().GetApplicationFailureInfo())
		}})
	}
	return append(rows,
		row{name: "message that is no UTF-8", body: fails(temporal.NewNonRetryableApplicationError("a\xffb", "t\xff", errors.New("c\xff"), "detail")),
			final: true, hangs: true, check: func(t *testing.T, got told) {
				t.Helper()
				require.Equal(t, "t\uFFFD", got.failure.GetApplicationFailureInfo().GetType())
				require.Len(t, got.failure.GetApplicationFailureInfo().GetDetails().GetPayloads(), 1)
			}},
		row{name: "oversize", body: gives(strings.Repeat("x", 2000)), final: true, hangs: true, check: func(t *testing.T, got told) {
			t.Helper()
			require.Equal(t, dedupe.ErrTypeResultTooLarge, got.failure.GetApplicationFailureInfo().GetType())
		}},
	)
}
