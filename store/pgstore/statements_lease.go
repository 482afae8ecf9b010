package pgstore

import "strings"

// givenUp is the end of a lease that its owner has given up, where one that ran
// out has the time at which it did: the owner may renew the latter only. Being
// long past, it also holds when the database's clock is set back.
const givenUp = `timestamptz 'epoch'`

// leaseEnd is when a lease is over. While the server was down its owner could not
// renew, so owners come first afterwards: unless a lease was given up, it ends no
// earlier than its length after the server came up. When that was, two witnesses
// tell. The start of its process is of no use where it went on through a crash of one
// backend, or stood by before it took over, or read its log for longer than the lease.
// {up} is then the other one: see [sight]. A time that is still to come was told by a
// clock that has been set back since, and counts for nothing. A lease that was over
// when somebody held the record stays over: nobody has come back to it, and an operator
// is asked already.
const leaseEnd = `CASE WHEN r.status <> 'in_progress' OR r.lease_expires_at = ` + givenUp + ` OR r.lease_expires_at <= r.held_since
        THEN r.lease_expires_at
        ELSE greatest(r.lease_expires_at, r.lease_ms * interval '1 millisecond' + greatest({up},
            CASE WHEN pg_postmaster_start_time() <= clock_timestamp() THEN pg_postmaster_start_time() END)) END`

// A sight is how much of the table idempotency_server a statement needs to see. The
// table is unlogged: a server that starts after a crash, or takes over from another,
// has emptied it. Whoever is about to overtake an owner and finds it empty notes the
// time and lets the owner be. So the grace begins when somebody is there to need it.
type sight struct {
	up    string // since when the server has been up
	noted string // what notes it, before the statement's other CTEs
}

var (
	// people read what they are shown on standbys too, where no unlogged table
	// can be read.
	people = sight{up: `NULL::timestamptz`}

	// lookups see what was noted, so that those who wait know how long.
	lookups = sight{up: `(SELECT max(s.up_since) FROM {server} s WHERE s.up_since <= clock_timestamp())`}

	// decisions take an empty table for a server that came up just now. There is no
	// unique index, for which they would wait while they hold locks: two that note
	// the time at once leave two rows.
	decisions = sight{
		up: `(SELECT CASE WHEN count(*) = 0 THEN clock_timestamp()
                ELSE max(s.up_since) FILTER (WHERE s.up_since <= clock_timestamp()) END FROM {server} s)`,
		noted: `noted AS (
    INSERT INTO {server} (up_since)
    SELECT clock_timestamp() WHERE NOT EXISTS (SELECT FROM {server})
), `,
	}
)

// put puts names, and what has names of its own in it, and then a sight into statements.
func (o Options) put(w sight, names ...string) func(string) string {
	named := strings.NewReplacer(names...)
	seen := strings.NewReplacer("{up}", w.up, "{noted}", w.noted)
	server := strings.NewReplacer("{server}", o.name(serverTable))
	return func(sql string) string { return server.Replace(seen.Replace(named.Replace(sql))) }
}
