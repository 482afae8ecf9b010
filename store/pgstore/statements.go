package pgstore

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/rowsecurity"
)

// Every statement of the store stands here. They take one array for each column
// and carry any number of records; some have a second form, see forOneRow. Nothing
// but the names of the tables is ever put into them. clock_timestamp() is unqualified
// so that a schema with a clock of its own can stand before pg_catalog in the
// search_path of a test.
//
// Statements that change records lock them first, in key order, in a CTE of
// their own. FOR UPDATE answers the newest version of a row even where the
// statement's snapshot is older, and checks the conditions beside it once more
// on that version; the UPDATE that follows then needs to find the row by its key
// only. Conditions that stood in the UPDATE instead would be tested on the old
// version first, and miss.
//
// Records are looked up one by one, in a LATERAL subquery whose OFFSET keeps it
// apart, and what a statement has read of its input it carries along: no join
// between two lists of rows depends on the planner's idea of their lengths.

// recordColumns are the columns of a record as scanRecord reads them.
const recordColumns = columnsBefore + `
    r.response_body, coalesce(r.result_size, 0), coalesce(r.tombstone, ''), r.failure,` + columnsAfter

// The columns before and after the bytes of a record.
const (
	columnsBefore = `
    r.key, r.record_version::integer, r.status, r.request_hash, r.owner_token::text,
    r.takeover_policy, r.effect_possible, r.held_since IS NOT NULL, r.pending, r.non_retryable,
    r.generation, r.acquisitions,
    (date_part('epoch', ` + leaseEnd + ` - clock_timestamp()) * 1000000)::bigint,`

	columnsAfter = `
    r.created_at, r.updated_at, r.expires_at,
    r.lineage, r.invocation, r.namespace, r.workflow_id, r.run_id, r.activity_id,
    r.activity_type, r.scheduled_at, r.attempt, r.owner, r.trace_parent`
)

// recordPacked is a record as one column, whose binary form packedRecord reads. A
// statement that has nothing to answer is spared the columns: describing them costs the
// server a tenth of a lone reservation, and the driver four tenths of a lone cycle's memory.
const recordPacked = `ROW(` + recordColumns + `)`

// noRecord stands for recordColumns where there is nothing to read.
const noRecord = `
    '', 0, '', '', '',
    '', false, false, false, false,
    0, 0,
    0,
    NULL, 0, '', NULL,
    'epoch', 'epoch', 'epoch',
    '', '', '', '', '', '',
    '', NULL, 0, '', ''`

// replanned is true. It keeps the server from caching a plan: for arrays that it
// does not know yet it must expect a thousand million rows here, and one for
// those that it sees, so that planning anew always looks cheaper to it. A cached
// plan would be one for the table's size of the moment it was made, and a table
// that was vacuumed while it was empty is then read from end to end by every
// call until autovacuum comes by, a minute later. Planning costs more than all
// the rest of a statement for one row, so that sessions which can be told never
// to plan such a scan (see setPlansSQL) go without it.
const replanned = `(SELECT count(*) > 0
        FROM generate_series(1, least(1, cardinality($1::text[]))) a,
             generate_series(1, least(1, cardinality($1::text[]))) b,
             generate_series(1, least(1, cardinality($1::text[]))) c)`

// setPlansSQL makes the plans of a session of ours independent of the table's
// size, and then keeps them. $1 is the process that answered at login: behind a
// pooler it is another one, whose next client would inherit the settings. JIT
// compilation would cost more than any of the statements. With the keepalives the
// server notices within half a minute, not hours, that a worker was cut off: what it
// had locked with half of a group is free then.
const setPlansSQL = `
SELECT set_config('plan_cache_mode', 'force_generic_plan', false),
    set_config('enable_seqscan', 'off', false),
    set_config('enable_mergejoin', 'off', false),
    set_config('jit', 'off', false),
    set_config('tcp_keepalives_idle', '15', false),
    set_config('tcp_keepalives_interval', '5', false),
    set_config('tcp_keepalives_count', '3', false)
WHERE pg_backend_pid() = $1::bigint`

// plansSetSQL tells whether setPlansSQL took effect.
const plansSetSQL = `SELECT current_setting('plan_cache_mode') = 'force_generic_plan' AND current_setting('enable_seqscan') = 'off'`

// reservationInput is the relation of reservations, from the arrays of
// reservationArgs.
const reservationInput = `unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[],
            $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[],
            $12::text[], $13::text[], $14::bigint[], $15::bigint[], $16::text[], $17::text[], $18::bigint[]`

// scheduledAt is the time of scheduled_us, and NULL for the number of an unknown one.
// Intervals are multiplied as doubles, which hold the microseconds of 285 years.
const scheduledAt = `timestamptz 'epoch' + nullif(i.scheduled_us, '-9223372036854775808') / 1000000 * interval '1 second'
            + i.scheduled_us % 1000000 * interval '1 microsecond'`

const reservationNames = `key, request_hash, token, lease_us, retention_us,
            takeover_policy, lineage, invocation, namespace, workflow_id, run_id,
            activity_id, activity_type, scheduled_us, attempt, owner, trace_parent, generation`

// reserveSQL finds records and inserts the absent ones, in one statement. The
// anti-join keeps it from waiting for a transaction that has updated a record
// which is there, as ON CONFLICT alone would; DO NOTHING serves the race with
// another insertion. The answer has a row for each record that was found, by the
// number of its key, and one that counts what was inserted. A row that comes into
// being after the snapshot is in neither; only then are the keys of the others named.
//
// It waits for a transaction that has inserted one of its keys and not ended, as long
// as $20 says.
const reserveSQL = `
WITH found AS MATERIALIZED (
    SELECT i.ord, {found}
    FROM unnest($1::text[]) WITH ORDINALITY AS i (key, ord)
    CROSS JOIN LATERAL (SELECT * FROM {records} t WHERE t.key = i.key OFFSET 0) r
    WHERE {replanned}
), inserted AS (
    INSERT INTO {records} AS r (
        created_at, updated_at, expires_at, lease_expires_at, scheduled_at, lease_ms,
        generation, acquisitions, attempt, record_version, effect_possible, pending,
        non_retryable, owner_token, key, status, request_hash, takeover_policy, lineage,
        invocation, namespace, workflow_id, run_id, activity_id, activity_type, owner, trace_parent)
    SELECT i.now, i.now,
        i.now + i.retention_us * interval '1 microsecond',
        i.now + i.lease_us * interval '1 microsecond',
        ` + scheduledAt + `,
        (i.lease_us + 999) / 1000,
        i.generation::integer, 1, i.attempt::integer, $19::integer, true, false,
        false, i.token::uuid, i.key, 'in_progress', i.request_hash, i.takeover_policy, i.lineage,
        i.invocation, i.namespace, i.workflow_id, i.run_id, i.activity_id, i.activity_type, i.owner, i.trace_parent
    FROM (
        SELECT i.*, clock_timestamp() AS now
        FROM ` + reservationInput + `) WITH ORDINALITY AS i (` + reservationNames + `, ord)
        WHERE {absent} AND (SELECT set_config('lock_timeout', $20::text, true)) IS NOT NULL
        {ordered}
    ) i
    ON CONFLICT (key) DO NOTHING
    RETURNING r.key
)
SELECT r.ord, 0::bigint, NULL::text[], {record} FROM found r
UNION ALL
SELECT 0, {counted}, {none}
FROM inserted n {any}`

// inSeveral and inOne are what the forms of statements differ in, for several rows and
// for one: besides their relations of rows, see forOneRow.
var (
	inSeveral = []string{
		"{absent}", `i.ord NOT IN (SELECT f.ord FROM found f)`,
		"{ordered}", `ORDER BY i.key COLLATE "C"`,
		"{counted}", `count(*), CASE WHEN count(*) < cardinality($1::text[]) - (SELECT count(*) FROM found) THEN array_agg(n.key) END`,
		"{any}", `HAVING count(*) > 0`,
	}
	inOne = []string{
		"{absent}", `NOT EXISTS (SELECT FROM found)`,
		"{ordered}", "",
		"{counted}", `1, NULL::text[]`,
		"{any}", "",
	}
)

// acquireSQL gives records to new owners. What does not fit the record as it is
// seen is not even locked.
const acquireSQL = `
WITH {noted}input AS MATERIALIZED (
    SELECT * FROM ` + reservationInput + `, $20::text[], $21::text[], $22::boolean[])
        WITH ORDINALITY AS i (` + reservationNames + `, seen_token, seen_status, seen_held, ord)
    WHERE {replanned}
    ORDER BY key COLLATE "C"
), locked AS MATERIALIZED (
    SELECT i.*
    FROM input i CROSS JOIN LATERAL (
        SELECT FROM {records} r
        WHERE r.key = i.key
          AND r.owner_token = i.seen_token::uuid AND r.status = i.seen_status
          AND (r.held_since IS NOT NULL) = i.seen_held
          AND r.status <> 'completed'
          AND (r.status <> 'in_progress' OR ` + leaseEnd + ` <= clock_timestamp())
        FOR UPDATE SKIP LOCKED OFFSET 0) r
)
UPDATE {records} r SET
    updated_at = clock_timestamp(),
    expires_at = clock_timestamp() + i.retention_us * interval '1 microsecond',
    lease_expires_at = clock_timestamp() + i.lease_us * interval '1 microsecond',
    held_since = NULL,
    scheduled_at = ` + scheduledAt + `,
    result_size = NULL,
    lease_ms = (i.lease_us + 999) / 1000,
    generation = CASE WHEN i.generation = 0 OR r.effect_possible OR r.lineage = i.lineage
        THEN r.generation ELSE i.generation::integer END,
    acquisitions = r.acquisitions + 1,
    attempt = i.attempt::integer,
    record_version = $19::integer,
    effect_possible = true, pending = false, non_retryable = false,
    owner_token = i.token::uuid,
    status = 'in_progress',
    request_hash = i.request_hash, takeover_policy = i.takeover_policy,
    lineage = i.lineage, invocation = i.invocation, namespace = i.namespace,
    workflow_id = i.workflow_id, run_id = i.run_id, activity_id = i.activity_id,
    activity_type = i.activity_type, owner = i.owner, trace_parent = i.trace_parent,
    tombstone = NULL, response_body = NULL, failure = NULL
FROM locked i
WHERE r.key = i.key
RETURNING i.ord, r.generation`

const renewable = `r.status = 'in_progress' AND NOT r.pending AND r.lease_expires_at <> ` + givenUp

// renewSQL extends leases. A record that still names the token but was not
// renewed is locked by somebody, or has changed since the snapshot; a token that
// is not in the snapshot any more has lost the record for good.
const renewSQL = `
WITH input AS MATERIALIZED (
    SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[])
        WITH ORDINALITY AS i (key, token, lease_us, ord)
    WHERE {replanned}
    ORDER BY key COLLATE "C"
), locked AS MATERIALIZED (
    SELECT i.*
    FROM input i CROSS JOIN LATERAL (
        SELECT FROM {records} r
        WHERE r.key = i.key AND r.owner_token = i.token::uuid AND ` + renewable + `
        FOR UPDATE SKIP LOCKED OFFSET 0) r
), renewed AS (
    UPDATE {records} r SET
        updated_at = clock_timestamp(),
        lease_expires_at = clock_timestamp() + i.lease_us * interval '1 microsecond',
        lease_ms = (i.lease_us + 999) / 1000
    FROM locked i
    WHERE r.key = i.key
    RETURNING i.ord
)
SELECT array_agg(a.ord), a.answer FROM (
    SELECT n.ord, 'renewed' AS answer FROM renewed n
    UNION ALL
    SELECT i.ord, CASE
        WHEN (SELECT r.owner_token = i.token::uuid AND ` + renewable + `
              FROM {records} r WHERE r.key = i.key) THEN 'locked'
        ELSE 'lost' END
    FROM input i WHERE i.ord NOT IN (SELECT n.ord FROM renewed n)
) a GROUP BY a.answer`

// completeSQL is what nearly every settlement comes to: results of executions that
// still own their records. It answers for those alone and leaves the others as they
// are, for settleSQL, which has the same rule among all others and costs half as
// much again. Being locked, a row is found again by its place; one that is newer
// than the statement's snapshot is not, and is left too. The table belongs to the
// place: where {records} has partitions, each has rows at the same ones. The key
// would tell them apart too, but brings plans that read its index from end to end.
const completeSQL = `
UPDATE {records} r SET
    updated_at = i.now,
    lease_expires_at = least(r.lease_expires_at, i.now),
    status = 'completed',
    held_since = NULL, effect_possible = false, pending = false,
    response_body = i.result, result_size = i.result_size, tombstone = nullif(i.tombstone, '')
FROM (
    SELECT i.*, l.home, l.place, clock_timestamp() AS now
    FROM unnest($1::text[], $2::text[], $3::bytea[], $4::bigint[], $5::text[])
        WITH ORDINALITY AS i (key, token, result, result_size, tombstone, ord)
    CROSS JOIN LATERAL (
        SELECT r.tableoid AS home, r.ctid AS place
        FROM {records} r
        WHERE r.key = i.key AND r.owner_token = i.token::uuid AND r.status = 'in_progress'
        FOR UPDATE SKIP LOCKED OFFSET 0) l
    WHERE {replanned}
    OFFSET 0) i
WHERE r.ctid = i.place AND r.tableoid = i.home
RETURNING i.ord`

// settleSQL and settleAloneSQL differ in what they do about a record that
// somebody has locked: the first, which carries many, says so; the second waits,
// and sets a limit to that in the server itself, which would otherwise go on
// waiting when the caller is long gone.
const (
	settleSQL = settleHead + `
        WHERE r.key = i.key
        FOR UPDATE SKIP LOCKED` + settleTail

	settleAloneSQL = settleHead + `
        WHERE r.key = i.key
          AND (SELECT set_config('lock_timeout', $13::text, true)) IS NOT NULL
        FOR UPDATE` + settleTail
)

const settleHead = `
WITH {noted}input AS MATERIALIZED (
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bytea[], $5::bigint[], $6::text[],
            $7::bytea[], $8::boolean[], $9::boolean[], $10::boolean[], $11::boolean[], $12::bigint[])
        WITH ORDINALITY AS i (key, token, outcome, result, result_size, tombstone,
            failure, non_retryable, effect_possible, new_generation, own_lease, lease_us, ord)
    WHERE {replanned}
    ORDER BY key COLLATE "C"
), locked AS MATERIALIZED (
    SELECT i.*, r.*
    FROM input i CROSS JOIN LATERAL (
        SELECT r.owner_token, r.status, r.effect_possible AS had_effect, r.pending, r.non_retryable AS was_final,
            r.held_since, r.lease_expires_at, r.lease_ms, r.failure AS had_failure, r.response_body,
            r.tombstone AS had_tombstone, ` + leaseEnd + ` AS lease_end
        FROM {records} r`

// In settleTail, the rows that decided calls applied stand already as the
// settlement says: they are repetitions, and are not written again. A settlement
// that says something else than the first one of its token is stale.
const settleTail = ` OFFSET 0) r
), decided AS MATERIALIZED (
    SELECT i.*, CASE
        WHEN i.owner_token <> i.token::uuid THEN 'stale'
        WHEN i.status = 'completed' THEN
            CASE WHEN i.outcome = 'complete' AND i.response_body IS NOT DISTINCT FROM i.result
                  AND coalesce(i.had_tombstone, '') = i.tombstone THEN 'applied' ELSE 'stale' END
        WHEN i.outcome = 'hold' THEN CASE
            WHEN NOT i.had_effect THEN 'stale'
            WHEN i.held_since IS NOT NULL AND (i.lease_over OR i.status = 'failed' OR NOT i.own_lease) THEN 'applied'
            WHEN i.lease_over OR i.status = 'failed' OR i.own_lease THEN 'change'
            ELSE 'stale' END
        WHEN i.status = 'failed' THEN
            CASE WHEN i.outcome = 'fail' AND i.was_final = i.non_retryable
                  AND i.had_effect = i.effect_possible AND i.had_failure IS NOT DISTINCT FROM i.failure THEN 'applied' ELSE 'stale' END
        WHEN i.outcome = 'release' AND i.lease_expires_at = ` + givenUp + ` AND NOT i.pending
         AND i.had_effect = i.effect_possible
         AND (i.effect_possible OR i.held_since IS NULL) THEN 'applied'
        WHEN i.outcome = 'pend' AND i.pending AND NOT i.lease_over
         AND i.lease_ms = (i.lease_us + 999) / 1000 THEN 'applied'
        ELSE 'change' END AS answer
    FROM (SELECT l.*, c.now, l.lease_end <= c.now AS lease_over
          FROM locked l CROSS JOIN LATERAL (SELECT clock_timestamp() AS now, l.key OFFSET 0) c) i
), changed AS (
    UPDATE {records} r SET
        updated_at = i.now,
        lease_expires_at = CASE i.outcome
            WHEN 'pend' THEN i.now + i.lease_us * interval '1 microsecond'
            WHEN 'release' THEN ` + givenUp + `
            WHEN 'hold' THEN CASE
                WHEN i.own_lease AND r.status = 'in_progress' AND NOT i.lease_over THEN ` + givenUp + `
                ELSE r.lease_expires_at END
            ELSE least(r.lease_expires_at, i.now) END,
        lease_ms = CASE i.outcome
            WHEN 'pend' THEN (i.lease_us + 999) / 1000
            ELSE r.lease_ms END,
        status = CASE i.outcome WHEN 'complete' THEN 'completed' WHEN 'fail' THEN 'failed' ELSE r.status END,
        held_since = CASE
            WHEN i.outcome = 'hold' THEN coalesce(r.held_since, i.now)
            WHEN i.outcome = 'pend' OR i.effect_possible THEN r.held_since END,
        generation = r.generation + (i.new_generation AND r.effect_possible)::integer,
        effect_possible = CASE
            WHEN i.outcome IN ('hold', 'pend') THEN r.effect_possible
            ELSE i.effect_possible END,
        pending = CASE i.outcome WHEN 'hold' THEN r.pending ELSE i.outcome = 'pend' END,
        non_retryable = CASE i.outcome WHEN 'fail' THEN i.non_retryable ELSE r.non_retryable END,
        failure = CASE i.outcome WHEN 'fail' THEN i.failure ELSE r.failure END,
        response_body = CASE i.outcome WHEN 'complete' THEN i.result ELSE r.response_body END,
        result_size = CASE i.outcome WHEN 'complete' THEN i.result_size ELSE r.result_size END,
        tombstone = CASE i.outcome WHEN 'complete' THEN nullif(i.tombstone, '') ELSE r.tombstone END
    FROM decided i
    WHERE i.answer = 'change' AND r.key = i.key
    RETURNING i.ord
)
SELECT array_agg(a.ord), a.answer FROM (
    SELECT c.ord, 'applied' AS answer FROM changed c
    UNION ALL
    SELECT d.ord, d.answer FROM decided d WHERE d.answer <> 'change'
    UNION ALL
    SELECT i.ord, CASE WHEN (SELECT true FROM {records} r WHERE r.key = i.key) THEN 'locked' ELSE 'missing' END
    FROM input i WHERE i.ord NOT IN (SELECT d.ord FROM decided d)
) a GROUP BY a.answer`

const getSQL = `SELECT i.ord,` + recordColumns + `
FROM unnest($1::text[]) WITH ORDINALITY AS i (key, ord)
CROSS JOIN LATERAL (SELECT * FROM {records} t WHERE t.key = i.key OFFSET 0) r
WHERE {replanned}`

// lockSQL locks a record for the rest of the transaction, and sets a timeout for as
// long: how long the transaction may idle, or the statement wait.
const lockSQL = `SELECT` + recordColumns + ` FROM {records} r
WHERE r.key = ANY ($1::text[]) AND {replanned} AND (SELECT set_config($2::text, $3::text, true)) IS NOT NULL
FOR UPDATE OF r`

// A transaction of InTx that fails goes back to where it had locked the record, and
// renews the lease before it ends. The second savepoint is gone where the transaction
// is another one by the end. Constraints that are deferred are checked while there is
// a way back: a commit that fails frees the record at once, with a lease that may be
// over.
const (
	savepointSQL       = `SAVEPOINT dedupe_in_tx; SAVEPOINT dedupe_in_tx_intact`
	backToSavepointSQL = `ROLLBACK TO SAVEPOINT dedupe_in_tx`
	intactSQL          = `RELEASE SAVEPOINT dedupe_in_tx_intact; SET CONSTRAINTS ALL IMMEDIATE`
)

const pingSQL = `SELECT 1`

// checkSessionSQL tells whether the session can write.
const checkSessionSQL = `
SELECT pg_is_in_recovery(), current_setting('transaction_read_only') = 'on',
    current_setting('bytea_output'), current_setting('DateStyle'), current_setting('array_nulls'),
    current_setting('standard_conforming_strings'), pg_client_encoding()::text, current_setting('server_encoding')`

// checkSchemaSQL tells the version of the tables, which privileges the user lacks,
// whether the records stand in a table (a row of a view has no place to find it by), and
// which tables hide rows from the user.
var checkSchemaSQL = `
SELECT coalesce(max(v.version), 0),
    (SELECT string_agg(w.privilege || ' on ' || w.name, ', ')
     FROM unnest($2::text[], $3::text[]) w (name, privilege) WHERE NOT has_table_privilege(w.name, w.privilege)),
    (SELECT c.relkind IN ('r', 'p') FROM pg_class c WHERE c.oid = $1::text::regclass),
    (SELECT string_agg(h.name, ', ') FROM (` + rowsecurity.HiddenSQL(`unnest($2::text[], $3::text[])`) + `) h)
FROM {version} v`

// statements are the statements with the names of the tables in them.
type statements struct {
	records string // the table's name, as it stands in the statements
	packed  bool   // reserve answers with packed records

	reserve, acquire, renew, complete, settle, settleAlone, get, lock, evict, checkSession, checkSchema string

	// one are the forms for one row, where the server may keep their plans.
	one struct{ reserve, complete, get string }
}

// arrays is a relation of rows that come as arrays.
var arrays = regexp.MustCompile(`unnest\(([^()]+)\)\s+WITH ORDINALITY AS i \(([^()]+), ord\)`)

// forOneRow makes the form of a statement that takes plain parameters instead of
// arrays. That spares the server an eighth of a call by itself; beside other statements
// it is not faster.
func forOneRow(sql string) string {
	return arrays.ReplaceAllStringFunc(sql, func(relation string) string {
		parts := arrays.FindStringSubmatch(relation)
		parameters, names := strings.Split(parts[1], ","), strings.Split(parts[2], ",")
		var row strings.Builder
		for i, p := range parameters {
			fmt.Fprintf(&row, "%s AS %s, ", strings.TrimSuffix(strings.TrimSpace(p), "[]"), strings.TrimSpace(names[i]))
		}
		return "(SELECT " + row.String() + "1::bigint AS ord) i"
	})
}

// newStatements puts in the names of the tables. Where the sessions keep plans by
// their own settings, the statements need not prevent it, and answer in binary.
func newStatements(o Options, keepPlans bool) statements {
	plan, found, record, none := replanned, "r.*", recordColumns, noRecord
	if keepPlans {
		plan, found, record, none = "true", recordPacked+" AS record", "r.record", "NULL::record"
	}
	records := o.name(recordsTable)
	names := []string{
		"{records}", records, "{version}", o.name(versionTable), "{replanned}", plan,
		"{found}", found, "{record}", record, "{none}", none,
	}
	see := lookups
	if o.ReadOnly {
		see = people
	}
	look, decide := o.put(see, slices.Concat(names, inSeveral)...), o.put(decisions, names...)
	all := statements{
		records:      records,
		packed:       keepPlans,
		reserve:      look(reserveSQL),
		acquire:      decide(acquireSQL),
		renew:        look(renewSQL),
		complete:     look(completeSQL),
		settle:       decide(settleSQL),
		settleAlone:  decide(settleAloneSQL),
		get:          look(getSQL),
		evict:        decide(evictSQL),
		checkSession: look(checkSessionSQL),
		checkSchema:  look(checkSchemaSQL),
		lock:         look(lockSQL),
	}
	if keepPlans {
		look = o.put(see, slices.Concat(names, inOne)...)
		all.one.reserve, all.one.complete, all.one.get = look(forOneRow(reserveSQL)), look(forOneRow(completeSQL)), look(forOneRow(getSQL))
	}
	return all
}
