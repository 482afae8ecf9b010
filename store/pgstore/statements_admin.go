package pgstore

// The statements of operators. They keep to the rules of statements.go, and never
// read response_body or failure: octet_length answers from a value's header, so
// that a list of large results reads none of them.

// entryColumns are the columns of an entry as scanEntry reads them: those that
// recordColumns does not have, and then the same with nothing for the bytes.
const entryColumns = `
    r.held_since, r.lease_ms, r.lease_expires_at = ` + givenUp + `,
    r.response_body IS NOT NULL, coalesce(octet_length(r.failure), 0)::bigint,` + columnsBefore + `
    NULL::bytea, coalesce(r.result_size, 0), coalesce(r.tombstone, ''), NULL::bytea,` + columnsAfter

// selected are the conditions of a query, $3 to $10 and $12, on a row r.
const selected = `($3::text = '' OR r.status = $3::text)
      AND (NOT $4::boolean OR r.pending)
      AND (NOT $5::boolean OR (r.status = 'in_progress' AND ` + leaseEnd + ` <= clock_timestamp()))
      AND (NOT $12::boolean OR (r.effect_possible
           AND (r.status <> 'in_progress' OR ` + leaseEnd + ` <= clock_timestamp())))
      AND ($6::text = '' OR r.namespace = $6::text)
      AND ($7::text = '' OR r.workflow_id = $7::text)
      AND ($8::text = '' OR r.run_id = $8::text)
      AND ($9::text = '' OR r.activity_type = $9::text)
      AND r.key > $10::text`

// listSQL looks the ranges up one by one in the index of keys. Each is read in
// its order until there is enough, so that no sort of the table is worth it.
const listSQL = `
SELECT` + entryColumns + `
FROM unnest($1::text[], $2::text[]) AS k (from_key, before_key)
CROSS JOIN LATERAL (
    SELECT r.* FROM {records} r
    WHERE r.key >= k.from_key AND r.key < k.before_key AND ` + replanned + `
      AND ` + selected + `
    ORDER BY r.key
    LIMIT $11::bigint) r
ORDER BY r.key
LIMIT $11::bigint`

// isHeld is true of every record that is held. The server expects few rows of a
// span that has two ends and reads the index, where it takes a column that is not
// null in a table without statistics for one that never is, and reads the table.
const isHeld = `r.held_since > '-infinity' AND r.held_since < 'infinity'`

// heldSQL reads the worklist from its own index, the oldest first.
const heldSQL = `
SELECT` + entryColumns + `
FROM {records} r
WHERE ` + isHeld + `
  AND EXISTS (SELECT FROM unnest($1::text[], $2::text[]) AS k (from_key, before_key)
              WHERE r.key >= k.from_key AND r.key < k.before_key)
  AND ` + selected + `
ORDER BY r.held_since, r.key
LIMIT $11::bigint`

const findSQL = `SELECT` + entryColumns + ` FROM {records} r
WHERE r.key = ANY ($1::text[]) AND ` + replanned + `
ORDER BY r.key`

// auditColumns are what the audit trail keeps of a row r: all but its result and
// its failure.
const auditColumns = `
        r.created_at, r.updated_at, r.expires_at, r.lease_expires_at, r.held_since, r.scheduled_at,
        r.result_size, r.lease_ms, r.generation, r.acquisitions, r.attempt, r.record_version,
        r.effect_possible, r.pending, r.non_retryable, r.owner_token, r.key, r.status,
        r.request_hash, r.takeover_policy, r.lineage, r.invocation, r.namespace, r.workflow_id,
        r.run_id, r.activity_id, r.activity_type, r.owner, r.trace_parent, r.tombstone,
        r.response_body IS NOT NULL AS has_result, coalesce(octet_length(r.failure), 0) AS failure_size`

// changeHead locks the records of changes and decides: 'change' where the record
// is as it was seen. A record with the change's own new token was changed by it
// before, by a call whose answer was lost.
const changeHead = `
WITH {noted}input AS MATERIALIZED (
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::boolean[], $5::boolean[], $6::boolean[],
            $7::bigint[], $8::text[], $9::text[], $10::text[], $11::boolean[])
        WITH ORDINALITY AS i (key, seen_token, seen_status, seen_held, seen_pending, seen_effect,
            seen_generation, seen_tombstone, named, token, force, ord)
    WHERE ` + replanned + `
), locked AS MATERIALIZED (
    SELECT ` + auditColumns + `, ` + leaseEnd + ` AS lease_end
    FROM {records} r
    WHERE r.key = ANY ($1::text[])
    ORDER BY r.key COLLATE "C"
    FOR UPDATE SKIP LOCKED
), decided AS MATERIALIZED (
    SELECT i.ord, l.now, l.before, CASE
        WHEN l.owner_token = i.token::uuid THEN 'done'
        WHEN l.record_version > $14::integer THEN 'newer_version'
        WHEN l.owner_token <> i.seen_token::uuid OR l.status <> i.seen_status
          OR (l.held_since IS NOT NULL) <> i.seen_held OR l.pending <> i.seen_pending
          OR l.effect_possible <> i.seen_effect OR l.generation <> i.seen_generation
          OR coalesce(l.tombstone, '') <> i.seen_tombstone THEN 'changed'
        WHEN l.status = 'in_progress' AND l.lease_end > l.now AND NOT i.force THEN 'lease_live'
        ELSE 'change' END AS answer
    FROM (SELECT l.*, to_jsonb(l) - 'lease_end' AS before, c.now
          FROM locked l CROSS JOIN LATERAL (SELECT clock_timestamp() AS now, l.key OFFSET 0) c) l
    JOIN input i ON i.key = l.key
), changed AS (`

// changeTail writes the audit trail, from what changed answers. A record that is
// in the snapshot but could not be locked is locked by somebody.
const changeTail = `
), trail AS (
    INSERT INTO {audit} (at, key, verb, actor, reason, before, after)
    SELECT d.now, i.key, i.named, $12::text, $13::text, d.before, c.after
    FROM changed c JOIN decided d ON d.ord = c.ord JOIN input i ON i.ord = c.ord
    ORDER BY i.ord
)
SELECT ARRAY[i.ord], CASE
    WHEN c.ord IS NOT NULL THEN 'done'
    WHEN d.answer <> 'change' THEN d.answer
    WHEN (SELECT true FROM {records} r WHERE r.key = i.key) THEN 'locked'
    ELSE 'missing' END
FROM input i LEFT JOIN decided d ON d.ord = i.ord LEFT JOIN changed c ON c.ord = i.ord`

// rowAfter is the row that an UPDATE leaves, for the audit trail.
const rowAfter = `to_jsonb((SELECT a FROM (SELECT` + auditColumns + `) a))`

// resolveSQL gives records the operator's word. A record that failed stays
// failed when it is released, so that people can still read how; nothing but an
// attempt of its own scheduling could tell, and that must run.
const resolveSQL = changeHead + `
    UPDATE {records} r SET
        updated_at = d.now,
        expires_at = greatest(r.expires_at, d.now + v.keep_us * interval '1 microsecond'),
        lease_expires_at = ` + givenUp + `,
        held_since = NULL,
        result_size = CASE v.verb WHEN 'complete' THEN coalesce(octet_length(v.result), 0) END,
        generation = r.generation + v.fresh_key::integer,
        effect_possible = false, pending = false, non_retryable = v.verb = 'fail',
        owner_token = i.token::uuid,
        status = CASE v.verb WHEN 'complete' THEN 'completed' WHEN 'fail' THEN 'failed' ELSE r.status END,
        tombstone = NULL,
        response_body = CASE v.verb WHEN 'complete' THEN v.result END,
        failure = CASE v.verb WHEN 'fail' THEN v.failure WHEN 'release' THEN r.failure END
    FROM decided d JOIN input i ON i.ord = d.ord
    JOIN unnest($15::text[], $16::boolean[], $17::bytea[], $18::bytea[], $19::bigint[])
        WITH ORDINALITY AS v (verb, fresh_key, result, failure, keep_us, ord) ON v.ord = d.ord
    WHERE d.answer = 'change' AND r.key = i.key
    RETURNING i.ord, ` + rowAfter + ` AS after` + changeTail

// purgeSQL puts a tombstone in a result's place.
const purgeSQL = changeHead + `
    UPDATE {records} r SET
        updated_at = d.now,
        owner_token = i.token::uuid,
        tombstone = 'purged',
        response_body = NULL
    FROM decided d JOIN input i ON i.ord = d.ord
    WHERE d.answer = 'change' AND r.key = i.key
    RETURNING i.ord, ` + rowAfter + ` AS after` + changeTail

// deleteSQL removes records.
const deleteSQL = changeHead + `
    DELETE FROM {records} r USING decided d JOIN input i ON i.ord = d.ord
    WHERE d.answer = 'change' AND r.key = i.key
    RETURNING i.ord, NULL::jsonb AS after` + changeTail

// deletedSQL tells whether the trail has the deletion of a record that was in
// the hands of this token: an answer that was lost.
const deletedSQL = `
SELECT EXISTS (SELECT FROM {audit} a
    WHERE a.key = $1::text AND a.verb = 'delete' AND a.actor = $2::text AND a.reason = $3::text
      AND a.before ->> 'owner_token' = $4::text)`

// auditSQL and auditOfSQL read the trail from its indexes, backwards.
const (
	auditSQL = `
SELECT a.id, a.at, a.key, a.verb, a.actor, a.reason, a.before::text, a.after::text
FROM {audit} a ORDER BY a.id DESC LIMIT $1::bigint`

	auditOfSQL = `
SELECT a.id, a.at, a.key, a.verb, a.actor, a.reason, a.before::text, a.after::text
FROM {audit} a WHERE a.key = $2::text ORDER BY a.key DESC, a.id DESC LIMIT $1::bigint`
)

// sizeSQL reads no row of the table but the ends of two indexes, and the index of
// held records, which is empty on a healthy system.
const sizeSQL = `
SELECT clock_timestamp(),
    pg_relation_size($1::text::regclass) / current_setting('block_size')::bigint,
    pg_table_size($1::text::regclass), pg_indexes_size($1::text::regclass),
    (SELECT count(*) FROM {records} r WHERE ` + isHeld + `),
    (SELECT min(r.held_since) FROM {records} r WHERE ` + isHeld + `),
    (SELECT min(expires_at) FROM {records})`

// countSQL counts the records of a part of the table's pages, $1 in percent.
const countSQL = `
SELECT r.activity_type, count(*),
    count(*) FILTER (WHERE r.status = 'in_progress'),
    count(*) FILTER (WHERE r.status = 'completed'),
    count(*) FILTER (WHERE r.status = 'failed'),
    count(*) FILTER (WHERE r.live),
    count(*) FILTER (WHERE r.status = 'in_progress' AND NOT r.live),
    count(*) FILTER (WHERE r.pending),
    count(*) FILTER (WHERE r.held_since IS NOT NULL),
    count(*) FILTER (WHERE r.effect_possible AND NOT r.live),
    count(*) FILTER (WHERE r.tombstone IS NOT NULL),
    count(*) FILTER (WHERE r.expires_at <= r.now AND r.may_go),
    min(r.created_at)
FROM (SELECT r.activity_type, r.status, r.pending, r.held_since, r.effect_possible, r.tombstone,
          r.expires_at, r.created_at, c.now, (true` + evictable + `) AS may_go,
          r.status = 'in_progress' AND ` + leaseEnd + ` > c.now AS live
      FROM {records} r TABLESAMPLE SYSTEM ($1::real)
      CROSS JOIN (SELECT clock_timestamp() AS now OFFSET 0) c) r
GROUP BY r.activity_type
ORDER BY r.activity_type COLLATE "C"`

// adminStatements are the operators' statements with the names of the tables in
// them.
type adminStatements struct {
	records string // the table's name, as it stands in the statements

	list, held, find, resolve, purge, remove, removed, audit, auditOf, size, count string
}

func newAdminStatements(o Options) adminStatements {
	records := o.name(recordsTable)
	names := []string{"{records}", records, "{audit}", o.name(auditTable)}
	look, decide := o.put(people, names...), o.put(decisions, names...)
	return adminStatements{
		records: records,
		list:    look(listSQL),
		held:    look(heldSQL),
		find:    look(findSQL),
		resolve: decide(resolveSQL),
		purge:   decide(purgeSQL),
		remove:  decide(deleteSQL),
		removed: look(deletedSQL),
		audit:   look(auditSQL),
		auditOf: look(auditOfSQL),
		size:    look(sizeSQL),
		count:   look(countSQL),
	}
}
