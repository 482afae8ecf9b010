package migrations

import (
	"errors"
	"fmt"
)

var (
	// ErrNewerSchema means that a newer release has upgraded the tables, and
	// that this one cannot know what they mean. It appears wrapped, with the
	// version that was found and the newest that is known. Use the newer
	// release, also to migrate down.
	ErrNewerSchema = errors.New("dedupe: the schema is newer than this program")

	// ErrPending means that the tables are missing or older than this program
	// needs. It is what [Check] returns, wrapped with both versions. Run Up.
	ErrPending = errors.New("dedupe: the schema needs migration")

	// ErrIncomplete means that a table or a column is missing although its migration was
	// applied: somebody has dropped it. It is what [Up] and [Check] return, wrapped with
	// what is missing. The files make missing tables when psql runs them again.
	ErrIncomplete = errors.New("dedupe: parts of the schema are missing")

	// ErrTransactionPooler means that the database is reached through a
	// pooler that gives each transaction another server session. The lock
	// that keeps two migrations apart would stay behind in one of those
	// sessions and block every later start. Connect to Postgres itself, or to
	// a pool in session mode.
	ErrTransactionPooler = errors.New("dedupe: migrations need a connection of their own, not a transaction pooler")

	// ErrLockTimeout means that [Options.LockTimeout] went by while another
	// session held a lock: another migration, or one that uses the tables.
	ErrLockTimeout = errors.New("dedupe: another session holds a lock that the migration needs")
)

// newerSchema says what was found, what is known and what helps.
func newerSchema(schema string, found, known int) error {
	return fmt.Errorf("%w: schema %q has version %d, this program knows versions up to %d; "+
		"use a release that knows version %d (it can also migrate down)",
		ErrNewerSchema, schema, found, known, found)
}
