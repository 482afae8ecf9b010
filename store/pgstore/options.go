package pgstore

import (
	"cmp"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/pgurl"
)

const (
	recordsTable           = "idempotency_records"
	auditTable             = "idempotency_audit"
	maintenanceTable       = "idempotency_maintenance"
	serverTable            = "idempotency_server"
	versionTable           = "idempotency_schema"
	defaultCallTimeout     = 5 * time.Second
	defaultBatchSize       = 256
	defaultBatchesInFlight = 2

	maxBatchSize       = 10_000
	maxBatchesInFlight = 64
)

// Options are the choices of [New]. The zero value is useful.
type Options struct {
	// Schema is where the tables live. The name is quoted, so it is
	// case-sensitive. Defaults to wherever the connection's search_path finds
	// them.
	Schema string

	// ReadOnly is for programs that only look: [New] and [Store.Check] then take a
	// standby, a session that is read-only, and a user who has SELECT alone, and calls
	// that write fail by themselves. Defaults to false.
	ReadOnly bool

	// CallTimeout bounds each call of the store with all of its retries, also
	// where the caller's context has no deadline or a later one. A call repeats a
	// statement that failed for a passing reason: a lost connection, a server that
	// restarts, a deadlock, a serialization failure, a statement or lock timeout.
	// Repetitions are safe, since a record's token tells what was carried out
	// before. Defaults to 5 seconds.
	CallTimeout time.Duration

	// BatchSize is how many records one statement carries at most. Concurrent
	// calls share statements, and with them round trips and commits; a call that
	// is alone waits for nobody. 1 gives every call a statement of its own.
	// Defaults to 256.
	BatchSize int

	// BatchesInFlight is how many batches that read, and how many that write, are under
	// way at a time before calls gather; one that takes longer than a quarter of a second
	// does not count. Calls that write (reserve, take over, settle) travel together, in one
	// transaction, except through a Pool that is shared. More of them are smaller batches,
	// and connections: the store's own pool has two for each, and three. Defaults to 2, at
	// most 64.
	BatchesInFlight int
}

// validate reports the first field that cannot be used, by name.
func (o Options) validate() error {
	fault := func(field, text string) error {
		return fmt.Errorf("dedupe: pgstore: Options.%s: %s", field, text)
	}
	if text := pgurl.SchemaFault(o.Schema); text != "" {
		return fault("Schema", text)
	}
	switch {
	case o.CallTimeout < 0:
		return fmt.Errorf("dedupe: pgstore: Options.CallTimeout is negative: %v", o.CallTimeout)
	case o.BatchSize < 0 || o.BatchSize > maxBatchSize:
		return fault("BatchSize", fmt.Sprintf("%d, want 1 to %d, or 0 for the default", o.BatchSize, maxBatchSize))
	case o.BatchesInFlight < 0 || o.BatchesInFlight > maxBatchesInFlight:
		return fault("BatchesInFlight", fmt.Sprintf("%d, want 1 to %d, or 0 for the default", o.BatchesInFlight, maxBatchesInFlight))
	case o.CallTimeout > 0 && o.CallTimeout < time.Millisecond:
		return fault("CallTimeout", "below one millisecond; no call could be answered")
	}
	return nil
}

// privileges are what the user needs, and on which tables.
func (o Options) privileges() (tables, privileges []string) {
	records, server := o.name(recordsTable), o.name(serverTable)
	if o.ReadOnly {
		return []string{records}, []string{"SELECT"}
	}
	return []string{records, records, records, records, server, server},
		[]string{"SELECT", "INSERT", "UPDATE", "DELETE", "SELECT", "INSERT"}
}

// connections is the size of the store's own pool. Calls that gather need one for each
// batch under way, reading or writing; the settlement that waits for a locked record and
// the reservation that waits for an inserted one have one each, and renewals share
// another with all the rest.
func (o Options) connections() int { return 2*o.BatchesInFlight + 3 }

// withDefaults returns the options with every zero field filled in but Schema,
// whose zero value is its meaning.
func (o Options) withDefaults() Options {
	o.CallTimeout = cmp.Or(o.CallTimeout, defaultCallTimeout)
	o.BatchSize = cmp.Or(o.BatchSize, defaultBatchSize)
	o.BatchesInFlight = cmp.Or(o.BatchesInFlight, defaultBatchesInFlight)
	return o
}

// name is a table's as it stands in statements.
func (o Options) name(table string) string {
	if o.Schema == "" {
		return pgx.Identifier{table}.Sanitize()
	}
	return pgx.Identifier{o.Schema, table}.Sanitize()
}
