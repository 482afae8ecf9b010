package main

import (
	"context"
	"crypto/md5"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// Records look as the activity side makes them, in Go and in SQL alike: the n-th
// has a key of 70 bytes whose workflow ID is as good as random, as most are, so
// that rows are inserted all over the index.
const (
	namespace    = "default"
	activityType = "ChargePayment"
	owner        = "4711@worker-7d9f8b6c5-x2x9k"
	traceParent  = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	hash         = "v1::9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	scheduledAt  = 1_700_000_000
	lease        = 30 * time.Second
	retention    = 7 * 24 * time.Hour
)

// result is what the calls return: 96 bytes.
var result = []byte(strings.Repeat("receipt:", 12))

// uuid is the n-th one.
func uuid(n int64) string { return store.Token(md5.Sum([]byte(strconv.FormatInt(n, 10)))).String() }

// reservation asks for the n-th call.
func reservation(n int64) store.Reservation {
	id := uuid(n)
	return store.Reservation{
		Key:    "w/" + namespace + "/order-" + id + "/0/" + activityType + "/1",
		Hashes: []string{hash}, Token: store.NewToken(), Lease: lease, Retention: retention, Policy: store.Reexecute,
		Origin: store.Origin{
			Lineage: id, Invocation: id + "/5/" + strconv.Itoa(scheduledAt*1e9), Namespace: namespace,
			WorkflowID: "order-" + id, RunID: id, ActivityID: "5", ActivityType: activityType,
			ScheduledAt: time.Unix(scheduledAt, 0), Attempt: 1, Owner: owner, TraceParent: traceParent,
		},
	}
}

// completion ends a call with a result.
func completion(r store.Reservation) store.Settlement {
	return store.Settlement{Key: r.Key, Token: r.Token, Outcome: store.OutcomeComplete, Result: result, ResultSize: int64(len(result))}
}

// keySQL is the key of the record whose number the SQL expression n gives.
func keySQL(n string) string { return keyOf("md5((" + n + ")::text)::uuid") }

func keyOf(id string) string {
	return "'w/" + namespace + "/order-' || " + id + " || '/0/" + activityType + "/1'"
}

// insertSQL inserts records as the store does, whose numbers the SQL expression n
// gives; rows is what n comes from, if it is a column. OFFSET makes the digest one
// for each record and not one for each column.
func insertSQL(n, status, expires, lease, body, rows string) string {
	return strings.NewReplacer("{id}", "i.id", "{key}", keyOf("i.id"), "{status}", status, "{expires}", expires,
		"{lease}", lease, "{body}", body, "{from}", rows+"(SELECT md5(("+n+")::text)::uuid AS id OFFSET 0) i").Replace(`INSERT INTO idempotency_records (
created_at, updated_at, expires_at, lease_expires_at, scheduled_at, result_size, lease_ms, generation, acquisitions,
attempt, record_version, effect_possible, pending, non_retryable, owner_token, key, status, request_hash,
takeover_policy, lineage, invocation, namespace, workflow_id, run_id, activity_id, activity_type, owner, trace_parent,
response_body)
SELECT clock_timestamp(), clock_timestamp(), {expires}, {lease}, to_timestamp(` + strconv.Itoa(scheduledAt) + `),
octet_length({body}), 30000, 0, 1, 1, 1, {body} IS NULL, false, false, {id}, {key}, '{status}', '` + hash + `',
'reexecute', {id}::text, {id} || '/5/` + strconv.Itoa(scheduledAt*1e9) + `', '` + namespace + `', 'order-' || {id}, {id}::text, '5',
'` + activityType + `', '` + owner + `', '` + traceParent + `', {body}
FROM {from}`)
}

// resultSQL is a result as bytea.
var resultSQL = fmt.Sprintf(`'\x%x'::bytea`, result)

// state is in what state records are that a table is filled with.
type state int

const (
	completed state = iota
	expired         // completed, and retention is over
	leased          // owned by somebody, although retention is over
)

// fill inserts the records with the numbers from and up to, as many on a page as
// there are when they were reserved there and then completed, and brings the table's
// statistics and its visibility map up to date.
func (s *server) fill(ctx context.Context, schema string, from, to int, as state) error {
	status, expires, lease, body := "completed", "clock_timestamp() + interval '7 days'", "clock_timestamp()", resultSQL
	switch as {
	case expired:
		expires = "clock_timestamp() - interval '1 hour'"
	case leased:
		status, expires, lease, body = "in_progress", "clock_timestamp() - interval '1 hour'", "clock_timestamp() + interval '1 day'", "NULL::bytea"
	}
	conn, err := s.admin.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	generated := fmt.Sprintf("generate_series(%d, %d) n CROSS JOIN LATERAL ", from, to)
	for _, sql := range []string{
		"SET search_path = " + schema,
		"ALTER TABLE idempotency_records SET (fillfactor = 45)", // five completed ones
		insertSQL("n", status, expires, lease, body, generated),
		"ALTER TABLE idempotency_records SET (fillfactor = 40)", // five reserved ones, as the migration has it
		"VACUUM (ANALYZE) idempotency_records",
		"RESET search_path",
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("fill %s: %w", schema, err)
		}
	}
	return nil
}
