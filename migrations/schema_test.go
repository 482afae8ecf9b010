package migrations_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/migrations"
)

func setupMigrated(t *testing.T) *testBundle {
	t.Helper()
	b := setup(t)
	_, err := migrations.Up(t.Context(), b.url, migrations.Options{})
	require.NoError(t, err)
	return b
}

// insertRecord writes one valid record; $1 is its key. A test that changes one
// value sees the effect of that value alone.
const insertRecord = `
	INSERT INTO idempotency_records (
		created_at, updated_at, expires_at, lease_expires_at, lease_ms, generation, acquisitions, attempt,
		record_version, effect_possible, pending, non_retryable, owner_token, key, status, request_hash,
		takeover_policy, lineage, invocation, namespace, workflow_id, run_id, activity_id, activity_type,
		owner, trace_parent)
	SELECT now(), now(), now() + interval '7 days', now() + interval '30 s', 30000, 0, 1, 1,
		1, true, false, false, gen_random_uuid(), key, 'in_progress', 'v1:test:' || md5(key),
		'reexecute', 'lineage', 'run/activity/1', 'default', 'order-42', 'run', '5', 'ChargePayment',
		'worker', ''
	FROM unnest($1::text[]) key`

func (b *testBundle) requireRecords(t *testing.T, keys ...string) {
	t.Helper()
	b.requireExec(t, insertRecord, keys)
}

func TestRecordsRefuse(t *testing.T) {
	t.Parallel()
	b := setupMigrated(t)
	b.requireRecords(t, "k")

	for name, tc := range map[string]struct{ change, constraint string }{
		"a status that is none":                 {`status = 'done'`, "idempotency_records_status"},
		"a policy that is none":                 {`takeover_policy = 'retry'`, "idempotency_records_takeover_policy"},
		"an empty key":                          {`key = ''`, "idempotency_records_key_length"},
		"a key above 512 bytes, not characters": {`key = repeat('é', 257)`, "idempotency_records_key_length"},
		"a lease without length":                {`lease_ms = 0`, "idempotency_records_lease"},
		"a tombstone that is none":              {`tombstone = 'lost'`, "idempotency_records_tombstone"},
		"a result before completion":            {`response_body = 'x'`, "idempotency_records_outcome"},
		"a failure beside a result":             {`status = 'completed', response_body = 'x', failure = 'y'`, "idempotency_records_outcome"},
		"a final failure that is none":          {`status = 'completed', non_retryable = true`, "idempotency_records_outcome"},
		"pending after completion":              {`status = 'completed', pending = true`, "idempotency_records_outcome"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := b.conn.Exec(t.Context(), `UPDATE idempotency_records SET `+tc.change)
			var pg *pgconn.PgError
			require.ErrorAs(t, err, &pg)
			require.Equal(t, "23514", pg.Code)
			require.Equal(t, tc.constraint, pg.ConstraintName)
		})
	}

	t.Run("the same key twice", func(t *testing.T) {
		_, err := b.conn.Exec(t.Context(), insertRecord, []string{"k"})
		require.ErrorContains(t, err, "23505")
	})

	t.Run("a missing value in any column that must have one", func(t *testing.T) {
		columns := requireValue[[]string](t, b, `
			SELECT array_agg(attname::text) FROM pg_attribute
			WHERE attrelid = 'idempotency_records'::regclass AND attnum > 0 AND attnotnull`)
		require.Subset(t, columns, []string{"request_hash", "expires_at", "lease_expires_at", "owner_token", "status", "takeover_policy"})
		for _, column := range columns {
			_, err := b.conn.Exec(t.Context(), `UPDATE idempotency_records SET `+column+` = NULL`)
			require.ErrorContains(t, err, "23502", column)
		}
	})
}

func TestRecordsAccept(t *testing.T) {
	t.Parallel()
	b := setupMigrated(t)
	b.requireRecords(t, "k")
	for _, change := range []string{
		`key = repeat('é', 256)`,
		`status = 'completed', response_body = '\x00ff00', result_size = 3`,
		`status = 'completed', response_body = NULL`,
		`response_body = NULL, tombstone = 'result_too_large'`,
		`status = 'failed', failure = 'x', non_retryable = true, tombstone = NULL`,
		`status = 'in_progress', failure = NULL, non_retryable = false, pending = true, held_since = now()`,
	} {
		b.requireExec(t, `UPDATE idempotency_records SET `+change)
	}
}

// Rows are written once and settled once. The second write must find room
// beside the first and touch no index.
func TestCompletionIsHeapOnly(t *testing.T) {
	t.Parallel()
	b := setupMigrated(t)
	const rows = 512
	b.requireExec(t, `
		CREATE FUNCTION pg_temp.keys(batch int) RETURNS text[] LANGUAGE sql AS $$
			SELECT array_agg(format('default/order-%s/ChargePayment/%s', batch, n)) FROM generate_series(1, 64) n $$`)
	for batch := range rows / 64 {
		keys := requireValue[[]string](t, b, `SELECT pg_temp.keys($1)`, batch)
		b.requireRecords(t, keys...)
	}
	tx, err := b.conn.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	_, err = tx.Exec(t.Context(), `
		UPDATE idempotency_records SET status = 'completed', effect_possible = false, updated_at = clock_timestamp(),
			lease_expires_at = clock_timestamp(), response_body = decode(repeat('ab', 60), 'hex'), result_size = 60,
			owner = 'another worker', attempt = 2, lease_ms = 10000, pending = false, generation = 1`)
	require.NoError(t, err)
	var updated, heapOnly int
	require.NoError(t, tx.QueryRow(t.Context(), `
		SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_xact_user_tables WHERE relname = 'idempotency_records'`).
		Scan(&updated, &heapOnly))
	require.Equal(t, rows, updated)
	require.Equal(t, rows, heapOnly)
}

func TestCompletionLogsWhatItChanges(t *testing.T) {
	t.Parallel()
	b := setupMigrated(t)
	b.requireRecords(t, "k")
	b.requireExec(t, `UPDATE idempotency_records SET workflow_id = repeat('order-42/', 100)`) // logs the whole page, as the first change does
	plan := requireValue[[]struct {
		Plan struct {
			WAL int `json:"WAL Bytes"`
		} `json:"Plan"`
	}](t, b, `EXPLAIN (ANALYZE, WAL, FORMAT JSON)
		UPDATE idempotency_records SET updated_at = clock_timestamp(), lease_expires_at = clock_timestamp(),
			status = 'completed', effect_possible = false, pending = false, result_size = 4, response_body = 'paid'`)
	require.Greater(t, plan[0].Plan.WAL, 50)
	require.Less(t, plan[0].Plan.WAL, 300, "the workflow's ID has 900 bytes")
}

func TestIndexes(t *testing.T) {
	t.Parallel()
	b := setupMigrated(t)
	got := requireValue[map[string]string](t, b, `
		SELECT json_object_agg(indexname, substring(indexdef FROM 'USING .*')) FROM pg_indexes
		WHERE schemaname = 'public' AND tablename LIKE 'idempotency%' AND tablename NOT LIKE '%migrations'`)
	require.Equal(t, map[string]string{
		"idempotency_records_pkey":       "USING btree (key)",
		"idempotency_records_expires_at": "USING btree (expires_at)",
		"idempotency_records_held_since": "USING btree (held_since) WHERE (held_since IS NOT NULL)",
		"idempotency_audit_pkey":         "USING btree (id)",
		"idempotency_audit_key":          "USING btree (key, id)",
		"idempotency_maintenance_pkey":   "USING btree (name)",
		"idempotency_schema_pkey":        "USING btree (version)",
	}, got)
}

func TestStorage(t *testing.T) {
	t.Parallel()
	b := setupMigrated(t)
	require.ElementsMatch(t, []string{
		"fillfactor=40", "autovacuum_vacuum_scale_factor=0.02",
		"autovacuum_vacuum_insert_scale_factor=0.05", "autovacuum_analyze_scale_factor=0.05",
	}, requireValue[[]string](t, b, `SELECT reloptions FROM pg_class WHERE oid = 'idempotency_records'::regclass`))

	require.Equal(t, []string{"invocation", "key", "lineage", "request_hash", "status", "takeover_policy"},
		requireValue[[]string](t, b, `
			SELECT array_agg(attname::text ORDER BY attname) FROM pg_attribute
			WHERE attrelid = 'idempotency_records'::regclass AND attcollation = '"C"'::regcollation`),
		"what is compared or ordered is so byte by byte, whatever the database's locale")

	require.Equal(t, 0, requireValue[int](t, b, `
		SELECT count(*) FROM pg_attrdef WHERE adrelid = 'idempotency_records'::regclass`),
		"no value is guessed")

	// A column that needs more alignment than the one before it wastes bytes
	// in every row: so does updated_at, with which what a completion changes begins.
	require.Equal(t, "updated_at", requireValue[string](t, b, `
		SELECT string_agg(attname, ' ') FILTER (WHERE width > before) FROM (
			SELECT attname, width, lag(width, 1, width) OVER (ORDER BY attnum) AS before FROM (
				SELECT attnum, attname, CASE WHEN attlen = -1 THEN 0 WHEN atttypid = 'uuid'::regtype THEN 0.5
					ELSE attlen END AS width
				FROM pg_attribute WHERE attrelid = 'idempotency_records'::regclass AND attnum > 0) w) o`))
}
