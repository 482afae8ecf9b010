package store

import "errors"

// Errors that every store answers, found with errors.Is.
var (
	// ErrInvalidArgument appears wrapped in an error that names the field and
	// the key: a programming error, nothing was changed.
	ErrInvalidArgument = errors.New("dedupe: invalid argument to the store")
	// ErrNotFound appears wrapped in an error that names the key.
	ErrNotFound = errors.New("dedupe: record not found")
	// ErrContended appears when a key changed hands so often that a bounded
	// number of tries did not get hold of it, and when a record was to be held
	// that somebody is at work on. Try again later.
	ErrContended = errors.New("dedupe: record is contended")
	// ErrFull appears when a bounded store holds only records that it may
	// not drop. Nothing was reserved.
	ErrFull = errors.New("dedupe: store is full of live records")
	// ErrRecordVersion appears when a record was written by a later release
	// whose meaning this one does not know. The body does not run.
	ErrRecordVersion = errors.New("dedupe: record has a version that this release does not know")
	// ErrSchema appears from Check when the tables are missing, too old or too
	// new. Its text names the command to run.
	ErrSchema = errors.New("dedupe: database schema does not fit this release")
	// ErrUnavailable appears when a store did not answer in time, lost its
	// connection or was refused by its database, after it has tried again where
	// that was worthwhile. Nothing is known about the arguments of the call.
	// Its text quotes neither values nor credentials.
	ErrUnavailable = errors.New("dedupe: store is unavailable")
	// ErrClosed appears after Close.
	ErrClosed = errors.New("dedupe: store is closed")
)
