package doctor

import (
	"context"
	"slices"
)

// Check is one thing that the doctor looks at.
type Check struct {
	// Name is how reports and docs/doctor.md call it.
	Name string
	// Looks says what is looked at, and what is a finding.
	Looks string
	// Remedy says what to do about a finding.
	Remedy string
	// Severity is what a finding counts as.
	Severity Severity

	needs need
	run   func(ctx context.Context, e *exam) (findings []string, err error)
}

// need is what must be there for a check to be made.
type need int

const (
	needsNothing  need = iota
	needsDatabase      // it answered
	needsTables        // and has the tables
	needsTemporal      // an address was given
)

// Checks returns all checks, in the order in which they are made.
func Checks() []Check { return slices.Clone(checks) }

// checks are declared here and nowhere else. Those that others need come first.
var checks = []Check{
	{
		Name: "database", Severity: Fails, needs: needsNothing, run: checkDatabase,
		Looks:  "the database answers",
		Remedy: "look at the address, the credentials, pg_hba.conf and max_connections; through a pooler also at startup parameters in the URL, which it may refuse",
	},
	{
		Name: "primary", Severity: Fails, needs: needsDatabase, run: checkPrimary,
		Looks:  "the server is a primary, not a standby",
		Remedy: "connect the workers to the primary, for instance with several hosts and target_session_attrs=read-write in the URL",
	},
	{
		Name: "read-only", Severity: Fails, needs: needsDatabase, run: checkReadOnly,
		Looks:  "the session can write: default_transaction_read_only is off",
		Remedy: "take default_transaction_read_only out of the URL, the role (ALTER ROLE … RESET), the database (ALTER DATABASE … RESET) or postgresql.conf; it is also what some providers set when the disk is full",
	},
	{
		Name: "pooler", Severity: Fails, needs: needsDatabase, run: checkPooler,
		Looks:  "the URL's query exec mode works behind the pooler that it leads to",
		Remedy: "set default_query_exec_mode=cache_describe in the URL (or exec, or simple_protocol), or use a pool in session mode",
	},
	{
		Name: "schema", Severity: Fails, needs: needsDatabase, run: checkSchema,
		Looks:  "the tables exist with all their columns, in the version that this release needs",
		Remedy: "run `dedupe migrate up`; if it has nothing to do, give psql what `dedupe migrate print` prints, which makes tables that are missing, and add columns by hand as it shows them; if the tables are newer than this release, upgrade the workers and this program",
	},
	{
		Name: "privileges", Severity: Fails, needs: needsTables, run: checkPrivileges,
		Looks:  "the role may read and write the records, idempotency_maintenance and idempotency_server, and read idempotency_schema, and row security keeps no row of them from it",
		Remedy: "GRANT SELECT, INSERT, UPDATE, DELETE ON idempotency_records, idempotency_maintenance, SELECT, INSERT ON idempotency_server, SELECT ON idempotency_schema and USAGE on their schema to the workers' role; turn row security off, or give the role a policy without a condition",
	},
	{
		Name: "operator-privileges", Severity: Warns, needs: needsTables, run: checkOperatorPrivileges,
		Looks:  "the role may read and write idempotency_audit, as who changes records by hand must",
		Remedy: "GRANT SELECT, INSERT ON idempotency_audit to the role that runs `dedupe records`; where that is another one than in this URL, accept it with --skip",
	},
	{
		Name: "indexes", Severity: Fails, needs: needsTables, run: checkIndexes,
		Looks:  "the records have their primary key and their two indexes, and all are valid",
		Remedy: "rebuild an invalid index with REINDEX INDEX CONCURRENTLY; create a missing one as `dedupe migrate print` shows it, with CONCURRENTLY",
	},
	{
		Name: "extra-indexes", Severity: Warns, needs: needsTables, run: checkExtraIndexes,
		Looks:  "no index of others names a column that completion changes",
		Remedy: "drop the index: with it no update is heap-only any more, so that each completion writes every index, and the table bloats",
	},
	{
		Name: "fsync", Severity: Fails, needs: needsDatabase, run: checkFsync,
		Looks:  "fsync and full_page_writes are on",
		Remedy: "turn them on: without them a crash of the machine can lose or corrupt records that were committed, and their calls run again",
	},
	{
		Name: "synchronous-commit", Severity: Fails, needs: needsDatabase, run: checkSynchronousCommit,
		Looks:  "synchronous_commit is not off for this role and database, and not local where synchronous standbys are named",
		Remedy: "set synchronous_commit=on for the workers' role: otherwise the last commits before a crash or a failover are lost, and their calls run again",
	},
	{
		Name: "replication", Severity: Warns, needs: needsDatabase, run: checkReplication,
		Looks:  "if there are standbys, at least one is synchronous",
		Remedy: "name one in synchronous_standby_names, or accept that a failover loses the last commits and runs their calls again; GRANT pg_monitor to this role if the mode cannot be seen",
	},
	{
		Name: "clock", Severity: Warns, needs: needsDatabase, run: checkClock,
		Looks:  "the clocks of this machine and of the database agree to within --max-clock-difference",
		Remedy: "look at NTP on both; only the database's clock decides about leases, and evictions wait for this machine's where the other one is more than an hour ahead; logs and records cannot be read side by side, and a clock that is corrected in one step ends leases early or late",
	},
	{
		Name: "sweep", Severity: Warns, needs: needsTables, run: checkSweep,
		Looks:  "the last eviction ended within --max-sweep-age",
		Remedy: "run the evictor in a worker, or `dedupe evict` from cron; look into the workers' logs for why it stopped",
	},
	{
		Name: "expired", Severity: Warns, needs: needsTables, run: checkExpired,
		Looks:  "no record that may go is kept for longer than --max-sweep-age beyond its retention",
		Remedy: "eviction does not keep up or does not run: see sweep; run `dedupe evict` by hand to catch up",
	},
	{
		Name: "autovacuum", Severity: Warns, needs: needsTables, run: checkAutovacuum,
		Looks:  "autovacuum runs, on the server and on the records",
		Remedy: "turn on autovacuum and track_counts, and ALTER TABLE idempotency_records RESET (autovacuum_enabled): evicted rows are never cleared away otherwise",
	},
	{
		Name: "dead-rows", Severity: Warns, needs: needsTables, run: checkDeadRows,
		Looks:  "fewer than 50,000 dead rows, or fewer than a fifth of the live ones; autovacuum begins at a fiftieth",
		Remedy: "VACUUM idempotency_records; if the rows stay, something holds them back: see long-transactions, and look at replication slots",
	},
	{
		Name: "long-transactions", Severity: Warns, needs: needsDatabase, run: checkLongTransactions,
		Looks:  "no transaction in this database, prepared ones included, is open for longer than --stuck-after",
		Remedy: "end it (pg_terminate_backend, ROLLBACK PREPARED): until then no vacuum clears rows away that it could still see",
	},
	{
		Name: "leases", Severity: Fails, needs: needsTables, run: checkLeases,
		Looks:  "no lease ends after its record's retention",
		Remedy: "raise the policy's Retention above the activity's start-to-close and MaxOverrun: a record could otherwise go right after its execution, and the call run again",
	},
	{
		Name: "stuck", Severity: Warns, needs: needsTables, run: checkStuck,
		Looks:  "no record is in progress for longer than --stuck-after beyond a lease that its owner did not give up",
		Remedy: "the owner died and no attempt came after it: look at the workflow; if it is closed or wants no retry, the effect may or may not have been made, and somebody must look at the provider",
	},
	{
		Name: "unknown-outcomes", Severity: Warns, needs: needsTables, run: checkUnknownOutcomes,
		Looks:  "no record is held for an operator, or left under Refuse or Verify with an effect possible for longer than --stuck-after",
		Remedy: "look at the provider for each of them, then resolve the record (`dedupe records --help`); it is never evicted until then",
	},
	{
		Name: "workflow-side", Severity: Warns, needs: needsTables, run: checkWorkflowSide,
		Looks:  "no record of the last day has a key of kind `i`: an activity of a workflow that sent no header",
		Remedy: "register the plugin where the workflow runs (`dedupe.NewPlugin`, or `dedupe.NewWorkflowPlugin`, which needs no store): until then a reset or a retry of the workflow runs these calls again; or set `require_header` in their policies, which refuses them instead",
	},
	{
		Name: "size", Severity: Warns, needs: needsTables, run: checkSize,
		Looks:  "the records and their indexes take no more than --max-bytes",
		Remedy: "shorten retention where a week is more than is needed, return smaller results, look at sweep and dead-rows; REINDEX INDEX CONCURRENTLY shrinks an index that grew",
	},
	{
		Name: "temporal", Severity: Fails, needs: needsTemporal, run: checkTemporal,
		Looks:  "Temporal answers, and has the namespace",
		Remedy: "look at --temporal-address, --temporal-namespace and --temporal-tls, and at the API key in TEMPORAL_API_KEY",
	},
	{
		Name: "namespace-retention", Severity: Warns, needs: needsTemporal, run: checkNamespaceRetention,
		Looks:  "records are kept at least as long as the namespace keeps closed workflows",
		Remedy: "raise the policy's Retention to the namespace's: a workflow that is reset after its records are gone runs their calls again",
	},
}
