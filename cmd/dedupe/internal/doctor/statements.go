package doctor

import (
	"strings"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/rowsecurity"
)

// Every statement of the doctor stands here. Nothing but the names of the tables
// and the limits of time is ever put into them. clock_timestamp() is unqualified
// so that a schema with a clock of its own can stand before pg_catalog in the
// search_path of a test. Durations are read as microseconds.

// limitsSQL bounds a transaction; SET takes no parameters.
const limitsSQL = `SET LOCAL statement_timeout = %d; SET LOCAL lock_timeout = %d`

const pingSQL = `SELECT 1`

const clockSQL = `SELECT clock_timestamp()`

const recoverySQL = `SELECT pg_is_in_recovery()`

// readOnlySQL asks for the default, since the transaction it runs in is read-only
// in any case.
const readOnlySQL = `SELECT current_setting('default_transaction_read_only') = 'on'`

// tablesSQL finds the schema of the records, by name or along the search_path.
const tablesSQL = `
SELECT n.nspname::text
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid = to_regclass(CASE WHEN $1::text = '' THEN 'idempotency_records' ELSE format('%I.idempotency_records', $1::text) END)`

const versionSQL = `SELECT coalesce(max(version), 0) FROM {version}`

const privilegesSQL = `
SELECT p FROM unnest($2::text[]) p
WHERE to_regclass($1::text) IS NOT NULL AND NOT has_table_privilege($1::text, p)
ORDER BY 1`

// hiddenSQL names the table if it hides rows from the role.
var hiddenSQL = rowsecurity.HiddenSQL(`(SELECT $1::text, unnest($2::text[]))`)

// missingIndexesSQL names what a migration has created and is gone, or is there
// and cannot be used.
const missingIndexesSQL = `
SELECT e.name || CASE WHEN i.indexrelid IS NULL THEN ' is missing' ELSE ' is invalid' END
FROM unnest(ARRAY['idempotency_records_pkey', 'idempotency_records_expires_at', 'idempotency_records_held_since']) e (name)
LEFT JOIN (pg_index i JOIN pg_class c ON c.oid = i.indexrelid)
    ON i.indrelid = $1::text::regclass AND c.relname = e.name
WHERE i.indexrelid IS NULL OR NOT (i.indisvalid AND i.indisready AND i.indislive)
ORDER BY 1`

// extraIndexesSQL names indexes that a completion must write to. pg_depend knows
// the columns of keys, expressions and predicates alike.
const extraIndexesSQL = `
SELECT DISTINCT c.relname || ' names ' || a.attname
FROM pg_index i
JOIN pg_class c ON c.oid = i.indexrelid
JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid
    AND d.refclassid = 'pg_class'::regclass AND d.refobjid = i.indrelid
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = d.refobjsubid
WHERE i.indrelid = $1::text::regclass
  AND a.attname IN ('status', 'updated_at', 'lease_expires_at', 'effect_possible', 'pending',
      'non_retryable', 'generation', 'result_size', 'tombstone', 'response_body', 'failure')
ORDER BY 1`

const fsyncSQL = `
SELECT name || ' is off' FROM pg_settings
WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off'
ORDER BY 1`

const synchronousCommitSQL = `
SELECT current_setting('synchronous_commit'), current_setting('synchronous_standby_names')`

// standbysSQL reads the physical standbys; backups and archives are none. What
// the role may not see is NULL.
const standbysSQL = `
SELECT coalesce(nullif(r.application_name, ''), r.client_addr::text, 'unknown'), coalesce(r.sync_state, '')
FROM pg_stat_replication r
LEFT JOIN pg_replication_slots s ON s.active_pid = r.pid
WHERE coalesce(s.slot_type, 'physical') = 'physical'
  AND coalesce(r.state, '') <> 'backup'
  AND coalesce(r.application_name, '') NOT IN ('pg_basebackup', 'pg_receivewal')
ORDER BY 1`

// sweepSQL tells how long ago the last eviction ended, and how long ago the
// oldest record by retention was created. Either can be NULL.
const sweepSQL = `
SELECT (extract(epoch FROM clock_timestamp() - (SELECT m.finished_at FROM {maintenance} m WHERE m.name = 'evict')) * 1000000)::bigint,
    (extract(epoch FROM clock_timestamp() - (SELECT r.created_at FROM {records} r ORDER BY r.expires_at LIMIT 1)) * 1000000)::bigint`

// expiredSQL tells how long the oldest record that an eviction would take has
// been kept beyond its retention. The condition is the store's own, but for the time
// that a lease gains by a restart of the server.
const expiredSQL = `
SELECT (extract(epoch FROM clock_timestamp() - r.expires_at) * 1000000)::bigint
FROM {records} r
WHERE r.expires_at <= (SELECT clock_timestamp()) - $1::bigint * interval '1 microsecond'
  AND r.held_since IS NULL AND NOT r.pending
  AND (r.status <> 'in_progress' OR r.lease_expires_at <= clock_timestamp())
  AND (r.takeover_policy = 'reexecute' OR NOT r.effect_possible)
ORDER BY r.expires_at
LIMIT 1`

const autovacuumSQL = `
SELECT name || ' is off on the server' FROM pg_settings
WHERE name IN ('autovacuum', 'track_counts') AND setting = 'off'
UNION ALL
SELECT 'autovacuum_enabled is off on ' || c.relname FROM pg_class c, pg_options_to_table(c.reloptions) o
WHERE c.oid = $1::text::regclass AND o.option_name = 'autovacuum_enabled' AND NOT o.option_value::boolean`

const deadRowsSQL = `
SELECT coalesce(max(n_live_tup), 0)::bigint, coalesce(max(n_dead_tup), 0)::bigint
FROM pg_stat_all_tables WHERE relid = $1::text::regclass`

const longTransactionsSQL = `
SELECT format('process %s (%s, %s) has had a transaction open since %s', a.pid,
    coalesce(nullif(a.application_name, ''), 'no name'), coalesce(a.state, 'unknown'), a.xact_start::timestamptz(0))
FROM pg_stat_activity a
WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND a.backend_type = 'client backend'
  AND a.xact_start < clock_timestamp() - $1::bigint * interval '1 microsecond'
UNION ALL
SELECT format('transaction %L has been prepared since %s', p.gid, p.prepared::timestamptz(0))
FROM pg_prepared_xacts p
WHERE p.database = current_database() AND p.prepared < clock_timestamp() - $1::bigint * interval '1 microsecond'
ORDER BY 1
LIMIT 5`

const sizeSQL = `
SELECT pg_table_size($1::text::regclass), pg_indexes_size($1::text::regclass), pg_relation_size($1::text::regclass)`

// heldSQL reads the index of held records, also where the server has no statistics:
// it would then take IS NOT NULL for true of every record.
const heldSQL = `
SELECT count(*), coalesce(min(r.held_since), 'epoch'), coalesce(min(r.key), '')
FROM {records} r WHERE r.held_since > '-infinity' AND r.held_since < 'infinity'`

// tallySQL looks once at a sample of the records for what no index finds. A
// lease of the epoch is one that its owner gave up: the body has returned.
const tallySQL = `
SELECT
    count(*) FILTER (WHERE f.overlong), coalesce(min(f.key) FILTER (WHERE f.overlong), ''),
    count(*) FILTER (WHERE f.stuck), coalesce(min(f.key) FILTER (WHERE f.stuck), ''),
    count(*) FILTER (WHERE f.unresolved), coalesce(min(f.key) FILTER (WHERE f.unresolved), '')
FROM (
    SELECT r.key,
        r.status = 'in_progress' AND r.lease_expires_at > r.expires_at AS overlong,
        r.status = 'in_progress' AND r.held_since IS NULL AND r.lease_expires_at <> 'epoch'
            AND greatest(r.lease_expires_at, r.updated_at) < c.since
            AND (r.takeover_policy = 'reexecute' OR NOT r.effect_possible) AS stuck,
        r.status <> 'completed' AND r.held_since IS NULL AND r.takeover_policy <> 'reexecute' AND r.effect_possible
            AND greatest(r.lease_expires_at, r.updated_at) < c.since AS unresolved
    FROM {records} r TABLESAMPLE SYSTEM ($2::real),
        (SELECT clock_timestamp() - $1::bigint * interval '1 microsecond' AS since) c
) f`

// kindsSQL finds the beginnings that keys have, a prefix and a kind, by one look into
// the primary key for each: what follows the separator, which is '/', sorts before '0'.
// Keys that were not made by the library may have more beginnings than it looks for.
const kindsSQL = `
WITH RECURSIVE kinds (kind, n) AS (
    (SELECT split_part(r.key, '/', 1), 1 FROM {records} r ORDER BY r.key LIMIT 1)
    UNION ALL
    SELECT split_part(f.key, '/', 1), k.n + 1
    FROM kinds k
    CROSS JOIN LATERAL (SELECT r.key FROM {records} r WHERE r.key >= (k.kind || '0') COLLATE "C" ORDER BY r.key LIMIT 1) f
    WHERE k.n < $1::bigint
)
SELECT k.kind FROM kinds k WHERE k.kind ~ '(^|:)il?$'`

// headerlessSQL counts what is young among the first keys of one beginning.
const headerlessSQL = `
SELECT r.activity_type, count(*), min(r.key)
FROM (SELECT r.activity_type, r.key, r.created_at, r.workflow_id FROM {records} r
      WHERE r.key >= ($1::text || '/') COLLATE "C" AND r.key < ($1::text || '0') COLLATE "C"
      ORDER BY r.key LIMIT $2::bigint) r
WHERE r.workflow_id <> '' AND r.created_at > clock_timestamp() - interval '1 day'
GROUP BY r.activity_type
ORDER BY 2 DESC, 1
LIMIT 5`

// retentionSQL finds, for each activity type in a sample, the shortest time for
// which a record was kept from its start: the policy's retention and what was
// left of its first attempt.
const retentionSQL = `
SELECT r.activity_type, (extract(epoch FROM min(r.expires_at - r.created_at)) * 1000000)::bigint
FROM {records} r TABLESAMPLE SYSTEM ($1::real)
GROUP BY r.activity_type
ORDER BY 1`

// named puts the names of the tables into a statement.
func (e *exam) named(statement string) string {
	if e.tables == nil {
		return statement
	}
	return strings.NewReplacer(
		"{records}", e.tables.records, "{maintenance}", e.tables.maintenance, "{version}", e.tables.version,
	).Replace(statement)
}
