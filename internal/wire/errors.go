package wire

import "errors"

// Errors of this package, found with errors.Is. All of them make a reader go on
// as if there were no header, and say so once.
var (
	// ErrMalformed appears wrapped in an error that says what is wrong: the
	// header is encrypted, too large, not JSON, or lacks a field.
	ErrMalformed = errors.New("dedupe: header is malformed")
	// ErrVersion appears wrapped in an error that names the version: the header
	// was written by a later release whose meaning this one does not know.
	ErrVersion = errors.New("dedupe: header has a version that this release does not know")
	// ErrNotAddressed appears wrapped in an error that names the addressee: an
	// interceptor copied the header to where it does not belong.
	ErrNotAddressed = errors.New("dedupe: header is addressed to somebody else")
)
