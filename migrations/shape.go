package migrations

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/remedy"
)

// shape is what the tables and columns are after [Latest]. A test holds it to the files.
var shape = []struct{ table, columns string }{
	{"idempotency_records", "created_at expires_at scheduled_at lease_ms generation acquisitions attempt record_version " +
		"owner_token key request_hash takeover_policy lineage invocation namespace workflow_id run_id activity_id activity_type " +
		"owner trace_parent updated_at lease_expires_at held_since result_size effect_possible pending non_retryable status " +
		"tombstone response_body failure"},
	{"idempotency_audit", "id at key verb actor reason before after"},
	{"idempotency_maintenance", "name started_at finished_at rows correlation_id"},
	{"idempotency_schema", "version applied_at"},
	{"idempotency_server", "up_since"},
}

// missingSQL names tables and columns of the shape that a schema lacks.
const missingSQL = `
WITH have AS (
    SELECT c.relname, a.attname
    FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace AND n.nspname = $1::text
    JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
)
SELECT m.tab, m.col
FROM (
    SELECT DISTINCT w.tab, CASE WHEN EXISTS (SELECT FROM have h WHERE h.relname = w.tab) THEN w.col ELSE '' END
    FROM unnest($2::text[], $3::text[]) w (tab, col)
    WHERE NOT EXISTS (SELECT FROM have h WHERE h.relname = w.tab AND h.attname = w.col)
) m (tab, col)
ORDER BY m.col = '', m.tab, m.col`

// Part is a table of the schema, or a column of one.
type Part struct {
	Table string
	// Column is empty where the whole table is meant.
	Column string
}

// String returns "table idempotency_audit" or "column idempotency_records.failure".
func (p Part) String() string {
	if p.Column == "" {
		return "table " + p.Table
	}
	return "column " + p.Table + "." + p.Column
}

// MarshalText makes the same text of it in JSON.
func (p Part) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// Querier is a connection, a pool or a transaction of pgx.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Missing lists the tables and columns of [Latest] that a schema lacks, whatever its
// version says: columns first.
func Missing(ctx context.Context, db Querier, schema string) ([]Part, error) {
	var tables, columns []string
	for _, s := range shape {
		for column := range strings.FieldsSeq(s.columns) {
			tables, columns = append(tables, s.table), append(columns, column)
		}
	}
	rows, err := db.Query(ctx, missingSQL, schema, tables, columns)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Part])
}

// complete says what is missing and what helps: Up does not repeat what it has done.
func (s Status) complete() error {
	if len(s.Missing) == 0 {
		return nil
	}
	what := "run " + remedy.Create(s.given)
	if s.Missing[0].Column != "" { // columns come first
		what = "add columns by hand, as " + remedy.Print(s.given) + " shows them"
		if s.Missing[len(s.Missing)-1].Column == "" {
			what += ", and run " + remedy.Create(s.given)
		}
	}
	lacks := make([]string, len(s.Missing))
	for i, p := range s.Missing {
		lacks[i] = p.String()
	}
	return fmt.Errorf("%w: schema %q lacks %s; %s", ErrIncomplete, s.Schema, strings.Join(lacks, ", "), what)
}
