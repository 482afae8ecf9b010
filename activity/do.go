package activity

import (
	"context"
)

// DoOptions are the choices of [DoWith]. The zero value is useful.
type DoOptions struct {
	// Fingerprint is what tells two requests of this effect apart, in place of the
	// activity's arguments: the amount and the account, say, where the arguments
	// are an order of which they are read. It is digested as arguments are, and not
	// stored. Defaults to the activity's arguments.
	Fingerprint any
}

// Do makes a named effect inside an activity and records its result the moment fn
// returns. A later attempt of the activity that comes to the same name is answered
// from the record, and fn does not run, whatever became of the activity in between:
// an error, a panic, a crash. The value that Do returns has been encoded and
// decoded by the client's own data converter, the first time as well.
//
// The name is the effect's identity within the activity and stands in the table:
// no personal data. It stays the same over attempts, and is used once in an
// execution: a second time is [ErrDuplicateEffect]. Effects within fn have names of
// their own under this one. [Key] within fn is the effect's own.
//
// An error of fn is recorded as an activity's is, and returned as it is. Whether fn
// runs again in a later attempt follows the activity's policy: under
// store.Reexecute it does, with the same Key; under store.Refuse only if nothing
// can have happened, by [NoEffect] or a non-retryable application error, and
// otherwise Do answers [ErrTypeOutcomeUnknown] and the effect's record is held.
// There is no verifier for an effect: under store.Verify it is as under
// store.Refuse. A NoEffect speaks of the effect alone: mark the error again if the
// activity, too, has had none.
//
// The other errors of Do are for the body to return, wrapped or not: they leave the
// activity as what they are, and are not recorded as its outcome. One that wraps
// [ErrLeaseLost] says that another execution has the activity; fn did not run, or
// what it did is not this execution's any more. Without a record to begin with, and
// outside an activity, Do answers [ErrNotDeduplicated].
func Do[T any](ctx context.Context, name string, fn func(ctx context.Context) (T, error)) (T, error) {
	return DoWith(ctx, name, DoOptions{}, fn)
}

// DoWith is [Do] with options.
func DoWith[T any](ctx context.Context, name string, options DoOptions, fn func(ctx context.Context) (T, error)) (T, error) {
	var value, none T
	e, err := newEffect(ctx, name, options)
	if err != nil {
		return none, err
	}
	result, err := e.perform(ctx, func(ctx context.Context) (any, error) { return fn(ctx) })
	if err != nil {
		return none, err
	}
	if err := e.i.encoding.decode(ctx, e.info, result, &value); err != nil {
		return none, unreadableEffect(name, value, err)
	}
	return value, nil
}
