package pgstore

import "strings"

// evictSQL removes what may go, the oldest first, and tells how far it came. The
// rows are found by their place, not by a join: with stale statistics a join took
// minutes. Each partition of {records} has rows at the same places, so that the
// table is compared too: one alone where all rows stand in it, since pairs cost a sixth
// of the statement. The clock stands in a subquery because the planner uses an index only
// for a value that does not change during the scan. A row that was renewed or
// acquired after the statement began is not removed: locking it checks the
// conditions on its newest version, and the outer statement checks them again.
// The array in front only serves to have it planned anew. The place to begin at
// is compared as a pair because the planner, without statistics, thinks nothing of
// a range between two values, and would sort what it finds there.
const evictSQL = `
WITH {noted}batch AS MATERIALIZED (
    SELECT array_agg(b.place) AS places, array_agg(b.home) AS homes, min(b.home) = max(b.home) AS alike
    FROM (
        SELECT r.tableoid AS home, r.ctid AS place FROM {records} r
        WHERE r.expires_at <= (SELECT least(clock_timestamp(), timestamptz 'epoch' + $4::bigint * interval '1 microsecond'))
          AND (r.expires_at, r.key) >= (timestamptz 'epoch' + $3::bigint * interval '1 microsecond', '')` + evictable + `
        ORDER BY r.expires_at
        LIMIT $2::bigint
        FOR UPDATE SKIP LOCKED) b
), removed AS (
    DELETE FROM {records} r
    WHERE r.ctid = ANY ((SELECT b.places FROM batch b)::tid[])
      AND CASE WHEN (SELECT b.alike FROM batch b) THEN r.tableoid = (SELECT b.homes[1] FROM batch b)
          ELSE (r.tableoid, r.ctid) IN (SELECT unnest(b.homes), unnest(b.places) FROM batch b) END
      AND ` + replanned + `
      AND r.expires_at <= clock_timestamp()` + evictable + `
    RETURNING r.expires_at
)
SELECT count(*), coalesce((extract(epoch FROM max(r.expires_at)) * 1000000)::bigint, 0) FROM removed r`

// evictable stands in a CASE because the planner would otherwise guess, from
// statistics that a young or growing table does not have, that next to no row is,
// and sort all of those that expired in order to find the first thousand.
const evictable = `
      AND CASE WHEN r.held_since IS NULL AND NOT r.pending
          AND (r.status <> 'in_progress' OR ` + leaseEnd + ` <= clock_timestamp())
          AND (r.takeover_policy = 'reexecute' OR NOT r.effect_possible) THEN true ELSE false END`

// recordPassSQL tells when a kind of maintenance last ended. The worker sends how
// long it took, and the database knows what time it is. Whoever ends last stands
// there, whatever the order of their beginnings.
const recordPassSQL = `
INSERT INTO {maintenance} AS m (name, started_at, finished_at, rows, correlation_id)
SELECT $1::text, c.now - $2::bigint * interval '1 microsecond', c.now, $3::bigint, $4::text
FROM (SELECT clock_timestamp() AS now) c
ON CONFLICT (name) DO UPDATE SET
    started_at = excluded.started_at, finished_at = excluded.finished_at,
    rows = excluded.rows, correlation_id = excluded.correlation_id`

const countHeldSQL = `SELECT count(*) FROM {records} r WHERE ` + isHeld

// maintenance are the statements of maintenance with the names of the tables in
// them.
type maintenance struct {
	record, countHeld string
}

func newMaintenance(o Options) maintenance {
	put := strings.NewReplacer("{records}", o.name(recordsTable), "{maintenance}", o.name(maintenanceTable)).Replace
	return maintenance{record: put(recordPassSQL), countHeld: put(countHeldSQL)}
}
