package workflows

import (
	"fmt"
	"unicode/utf8"

	"go.temporal.io/sdk/workflow"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/wire"
)

// options is what the With… functions say about the calls made with a context.
type options struct {
	step        string
	businessKey string
	byArguments bool
	exempt      bool
}

type optionsKey struct{}

func optionsOf(ctx workflow.Context) options {
	o, _ := ctx.Value(optionsKey{}).(options)
	return o
}

func with(ctx workflow.Context, change func(*options)) workflow.Context {
	o := optionsOf(ctx)
	change(&o)
	return workflow.WithValue(ctx, optionsKey{}, o)
}

// WithStepKey names the calls made with the context, of activities, local
// activities and children without an ID of their own. Calls of one type are
// then counted per name, so that calls which race need not keep their order
// over a reset or a workflow retry. A name used more than once counts its uses.
//
// The name stands in the history, the records and the logs: no personal data. An
// empty name, one that is not valid UTF-8 or one of more than 8 KiB panics, so
// that the workflow task fails and is repeated when the code is put right.
func WithStepKey(ctx workflow.Context, step string) workflow.Context {
	mustName("WithStepKey", step)
	return with(ctx, func(o *options) { o.step = step })
}

// WithNumberByArguments counts the calls made with the context among those with
// equal arguments, so that calls which race need neither an order nor a name.
// In exchange nothing is detected where a re-execution makes a call with other
// arguments: that is another call, and it runs.
//
// Arguments are equal if their JSON is, apart from order, spacing and the way
// numbers are written. A type of which JSON does not see everything cannot be
// counted; a regular activity called with one is refused where its type is
// deduplicated. The digest of the arguments stands in the history, without a
// secret: whoever reads it can confirm a guess. Local activities are always
// counted like this.
func WithNumberByArguments(ctx workflow.Context) workflow.Context {
	return with(ctx, func(o *options) { o.byArguments = true })
}

// WithBusinessKey identifies the activity calls made with the context by the
// operation that they carry out: all calls of one activity type with this key
// are one call, in every workflow of the namespace and within one run too, whether
// they are local or not. It comes before the step key and the arguments, and has no
// effect on children.
//
// The key stands in the history, the records and the logs: no personal data. An
// empty key, one that is not valid UTF-8 or one of more than 8 KiB panics, so
// that the workflow task fails and is repeated when the code is put right.
func WithBusinessKey(ctx workflow.Context, key string) workflow.Context {
	mustName("WithBusinessKey", key)
	return with(ctx, func(o *options) { o.businessKey = key })
}

// WithoutDedupe exempts the activity calls made with the context: they run as
// if their type were not deduplicated. It comes before everything else and has
// no effect on children.
func WithoutDedupe(ctx workflow.Context) workflow.Context {
	return with(ctx, func(o *options) { o.exempt = true })
}

func mustName(function, text string) {
	var problem string
	switch {
	case text == "":
		problem = "is empty, which would make all such calls one"
	case len(text) > wire.MaxTextBytes:
		problem = fmt.Sprintf("has %d bytes, more than %d", len(text), wire.MaxTextBytes)
	case !utf8.ValidString(text):
		problem = "is not valid UTF-8"
	default:
		return
	}
	panic("dedupe: " + function + ": the key " + problem)
}
