package activity

import (
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"
)

// toFailure encodes an error as the SDK would after us. It panics where the
// client's converter does, as Temporal's own does when its codec fails.
func (c encoding) toFailure(err error) *failurepb.Failure { return c.failing.ErrorToFailure(err) }

// failure encodes an error for the record.
func (c encoding) failure(err error) (encoded []byte, problem error) {
	_, f, problem := c.acceptable(err, true)
	if problem != nil {
		return nil, problem
	}
	return marshalFailure(f)
}

// acceptable gives an error the form in which it can leave an activity, and
// returns the failure that Temporal will make of it. The server takes application
// failures only; it refuses a timeout, or the failure of another activity, at the
// top, and the attempt would hang until its own timeout. Such an error becomes
// the cause of an application error that has its message, and its Go type for a
// type, as the SDK does with errors that it does not know. Errors of local
// activities never travel alone and stay as they are; so do cancellations, which
// the SDK looks after. Text that is not UTF-8 would hang the attempt as well, in
// any activity, and becomes text.
func (c encoding) acceptable(err error, local bool) (leaving error, f *failurepb.Failure, problem error) {
	defer func() {
		if value := recover(); value != nil {
			leaving, f, problem = err, nil, &converterPanic{value}
		}
	}()
	leaving, f = err, c.toFailure(err)
	_, cancellation := err.(*temporal.CanceledError) //nolint:errorlint // the SDK looks at the top only
	if !local && !cancellation && f.GetApplicationFailureInfo() == nil {
		leaving = temporal.NewApplicationErrorWithOptions(err.Error(), goType(err), temporal.ApplicationErrorOptions{Cause: err})
		f = c.toFailure(leaving)
	}
	if text, changed := legible(f); changed {
		leaving, f = c.toError(text), text
	}
	return leaving, f, nil
}

// converterPanic is what a converter panicked with instead of encoding a failure.
type converterPanic struct{ value any }

// Error returns all that is known, for whoever asked for the encoding.
func (p *converterPanic) Error() string {
	return fmt.Sprintf("dedupe: the failure cannot be encoded: %v", p.value)
}

// summary leaves out what the converter quotes.
func (p *converterPanic) summary() string {
	return fmt.Sprintf("the failure cannot be encoded: the converter panicked with a %T", p.value)
}

// legible replaces what is no text in a failure, which neither gRPC nor a record
// can hold, and tells whether there was any.
func legible(f *failurepb.Failure) (*failurepb.Failure, bool) {
	f, changed := clone(f), false
	for part := f; part != nil; part = part.GetCause() {
		texts := []*string{&part.Message, &part.Source, &part.StackTrace}
		if info := part.GetApplicationFailureInfo(); info != nil {
			texts = append(texts, &info.Type)
		}
		for _, text := range texts {
			if !utf8.ValidString(*text) {
				*text, changed = strings.ToValidUTF8(*text, "\uFFFD"), true
			}
		}
	}
	return f, changed
}

func goType(err error) string {
	t := reflect.TypeOf(err)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}

// toError makes an error that Temporal sends as the failure it was made of. The
// client's own converter comes first, since other interceptors may look at the
// error; the default one keeps the whole failure where a converter of the user's
// does not.
func (c encoding) toError(f *failurepb.Failure) error {
	for _, from := range []converter.FailureConverter{c.failing, temporal.GetDefaultFailureConverter()} {
		// Converters may change what they are given, so each error is used once.
		if c.same(c.toFailure(from.FailureToError(clone(f))), f) {
			return from.FailureToError(clone(f))
		}
	}
	return c.failing.FailureToError(clone(f))
}

// same compares what two failures say. What is encrypted differs each time.
func (c encoding) same(a, b *failurepb.Failure) bool {
	return proto.Equal(a, b) || proto.Equal(c.readable(a), c.readable(b))
}

func (c encoding) readable(f *failurepb.Failure) *failurepb.Failure {
	f = clone(f)
	for part := f; part != nil; part = part.GetCause() {
		converter.DecodeCommonFailureAttributes(c.data, part)
		part.EncodedAttributes = nil
	}
	return f
}

func clone(f *failurepb.Failure) *failurepb.Failure { return proto.CloneOf(f) }
