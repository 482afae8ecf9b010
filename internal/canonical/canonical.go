// Package canonical turns the decoded arguments of a call into bytes that are
// equal when the arguments are, whatever the order of fields and maps, the
// spacing of JSON, the release of a converter or the nonce of a cipher. It is
// the one copy of that form: the activity side digests it for fingerprints, the
// workflow side for counting calls by their arguments. It must not know keys,
// secrets, headers or stores, and it writes nothing anywhere.
//
// A form's life: [Append] writes it into a buffer, the caller digests the
// buffer and forgets it. Only digests are kept, so the form may be binary; but
// it may not change from one release to the next without a new version of the
// digests, because records outlive workers.
//
// One argument becomes a tag, a length and its content, so that no two lists of
// arguments have one form: messages of protocol buffers as their full name and
// deterministic bytes, []byte as it is, payloads that were never decoded by
// their encoding, everything else as JSON with sorted members and exact numbers.
package canonical

import (
	"encoding/binary"
	"fmt"
)

// Mode says what a form is for.
type Mode int

const (
	// Lenient is for fingerprints: fields of structs that are null, false, 0, ""
	// or empty, after their own fields were left out, are left out, and so are
	// fields tagged `dedupe:"-"`. A field that is added to a type later and still
	// empty changes nothing. Of fields whose type encodes itself, those are left
	// out that are encoded as the type's zero value is. Entries of maps stay, and so
	// does what a pointer that is not nil points to.
	Lenient Mode = iota
	// Exact is for counting calls by their arguments: nothing is left out, the
	// tag has no effect, and a type of which JSON does not see everything, or whose
	// own encoder may hide something, has no form, since two values that differ
	// would look alike.
	Exact
)

// Tags that begin an argument.
const (
	tagNull      = 'n'
	tagJSON      = 'j'
	tagBytes     = 'b'
	tagProto     = 'p'
	tagGogo      = 'g'
	tagDynamic   = 'd'
	tagWire      = 'w'
	tagOwn       = 'o'
	tagProtoJSON = 'q'
)

// Own stands for an argument that gave its form itself.
type Own []byte

// Append writes the form of arguments after dst. The error is an [*Error]; dst
// is then returned as it was. Arguments that stand at the top are never left
// out, however empty. Values are only read; methods that types bring along for
// JSON are called, and their panics become errors.
func Append(dst []byte, args []any, mode Mode) (out []byte, err error) {
	e := acquire(dst, mode)
	current := 0
	defer func() {
		if p := recover(); p != nil {
			// e is not reused: it may be in the middle of something.
			out, err = dst, &Error{Argument: current + 1, Type: typeName(args[current]), Reason: "encoding it panicked", Err: fmt.Errorf("%v", p)}
		}
	}()
	e.dst = binary.AppendUvarint(e.dst, uint64(len(args)))
	for current = range args {
		if problem := e.argument(args[current]); problem != nil {
			e.release()
			return dst, problem.at(current, args[current])
		}
	}
	out = e.dst
	e.release()
	return out, nil
}

// JSON writes the form of one JSON text after dst. It is valid JSON itself, and
// its own form. Two texts have one exact form if and only if they mean the same
// value.
func JSON(dst, text []byte, mode Mode) ([]byte, error) {
	e := acquire(dst, mode)
	defer e.release()
	if problem := e.foreign(text); problem != nil {
		return dst, problem.at(0, text)
	}
	return e.dst, nil
}
