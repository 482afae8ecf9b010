package canonical

import (
	"fmt"
	"strings"
)

// Error appears when an argument has no canonical form. Nothing is known about
// the other arguments.
type Error struct {
	// Argument is the argument's position, from 1.
	Argument int
	// Type is the argument's Go type.
	Type string
	// Path leads from that type to the part that has no form, such as
	// ".Customer.secret". Empty: the argument as a whole.
	Path string
	// Reason says why. It holds names of types and fields, never values.
	Reason string
	// Err is the cause, where there is one. Its text may hold values.
	Err error
}

// Error returns the full text, which may hold parts of the argument.
func (e *Error) Error() string {
	if e.Err != nil {
		return e.Summary() + ": " + e.Err.Error()
	}
	return e.Summary()
}

// Summary returns the text without the cause: it names types and fields only
// and can be stored in the clear.
func (e *Error) Summary() string {
	var b strings.Builder
	fmt.Fprintf(&b, "dedupe: argument %d has no canonical form: %s", e.Argument, e.Type)
	if e.Path != "" {
		b.WriteString(e.Path)
	}
	b.WriteString(": ")
	b.WriteString(e.Reason)
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// problem is an Error that does not know its argument yet.
type problem struct {
	path, reason string
	err          error
}

func (p *problem) at(index int, arg any) *Error {
	return &Error{Argument: index + 1, Type: typeName(arg), Path: p.path, Reason: p.reason, Err: p.err}
}

func typeName(v any) string { return fmt.Sprintf("%T", v) }
