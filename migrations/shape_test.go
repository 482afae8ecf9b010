package migrations_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/migrations"
)

// What somebody has dropped is found, although its migration was applied, and comes back
// when psql runs the files again.
func TestWhatIsMissing(t *testing.T) {
	t.Parallel()
	for want, drop := range map[migrations.Part]string{
		{Table: "idempotency_audit"}:                      `DROP TABLE idempotency_audit`,
		{Table: "idempotency_maintenance"}:                `DROP TABLE idempotency_maintenance`,
		{Table: "idempotency_server"}:                     `DROP TABLE idempotency_server`,
		{Table: "idempotency_records"}:                    `DROP TABLE idempotency_records`,
		{Table: "idempotency_records", Column: "failure"}: `ALTER TABLE idempotency_records DROP COLUMN failure CASCADE`,
	} {
		t.Run(drop, func(t *testing.T) {
			t.Parallel()
			b := setupMigrated(t)
			b.requireExec(t, drop)
			status, err := migrations.ReadStatus(t.Context(), b.url, migrations.Options{Schema: "public"})
			require.NoError(t, err)
			require.Equal(t, []migrations.Part{want}, status.Missing)
			require.ErrorIs(t, status.Check(), migrations.ErrIncomplete)
			what := "; run `dedupe migrate print --schema public | psql"
			if want.Column != "" {
				what = "; add columns by hand, as `dedupe migrate print --schema public` shows them"
			}
			require.ErrorContains(t, status.Check(), `schema "public" lacks `+want.String()+what)
			result, err := migrations.Up(t.Context(), b.url, migrations.Options{Schema: "public"})
			require.EqualError(t, err, status.Check().Error(), "Up has nothing to do")
			require.ErrorIs(t, err, migrations.ErrIncomplete)
			require.Equal(t, migrations.Result{Schema: "public", From: 1, To: 1}, result)

			b.requirePsqlFile(t, upFile)
			if want.Column == "failure" {
				b.requireExec(t, `ALTER TABLE idempotency_records ADD COLUMN failure bytea`)
			}
			require.NoError(t, migrations.Check(t.Context(), b.url, migrations.Options{}))
		})
	}
}

// An interrupted run leaves a mark that Up clears. What is missing then is told too.
func TestWhatIsMissingAfterAnInterruption(t *testing.T) {
	t.Parallel()
	b := setupMigrated(t)
	b.requireExec(t, `UPDATE idempotency_schema_migrations SET dirty = true`)
	b.requireExec(t, `DROP TABLE idempotency_audit`)
	for range 2 {
		_, err := migrations.Up(t.Context(), b.url, migrations.Options{})
		require.ErrorIs(t, err, migrations.ErrIncomplete)
	}
	_, err := migrations.Down(t.Context(), b.url, migrations.Options{})
	require.NoError(t, err)
	_, err = migrations.Up(t.Context(), b.url, migrations.Options{})
	require.NoError(t, err)
}

// The list of what must be there is what the files make.
func TestShape(t *testing.T) {
	t.Parallel()
	b := setupMigrated(t)
	b.requireExec(t, `CREATE SCHEMA empty`)
	missing, err := migrations.Missing(t.Context(), b.conn, "empty")
	require.NoError(t, err)
	tables := make([]string, len(missing))
	for i, p := range missing {
		require.Empty(t, p.Column)
		tables[i] = p.Table
	}
	require.Equal(t, requireValue[[]string](t, b, `SELECT array_agg(relname ORDER BY relname) FROM pg_class
		WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname <> 'idempotency_schema_migrations'`), tables)
	text, err := json.Marshal(migrations.Status{Missing: []migrations.Part{{Table: "a"}, {Table: "b", Column: "c"}}})
	require.NoError(t, err)
	require.Contains(t, string(text), `"missing":["table a","column b.c"]`)

	made := requireValue[[]string](t, b, `SELECT array_agg(table_name || '.' || column_name) FROM information_schema.columns
		WHERE table_schema = 'public' AND table_name <> 'idempotency_schema_migrations'`)
	require.ElementsMatch(t, made, migrations.Columns())
}
