package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/rowsecurity"
	"github.com/seed5aa7bdf6/temporal-dedupe/migrations"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// checkSchema finds the tables, for itself and for all checks that need them.
// Those are made on another version of the tables too: most of what they look at
// is the same.
func checkSchema(ctx context.Context, e *exam) ([]string, error) {
	var schema string
	err := e.row(ctx, tablesSQL, []any{e.options.Schema}, &schema)
	switch {
	case errors.Is(err, pgx.ErrNoRows) && e.options.Schema != "":
		return []string{fmt.Sprintf("there is no table idempotency_records in the schema %q", e.options.Schema)}, nil
	case errors.Is(err, pgx.ErrNoRows):
		return []string{"there is no table idempotency_records on the search_path"}, nil
	case err != nil:
		return nil, err
	}
	var missing []migrations.Part
	err = e.within(ctx, func(tx pgx.Tx) error {
		missing, err = migrations.Missing(ctx, tx, schema)
		return err
	})
	if err != nil {
		return nil, err
	}
	var findings []string
	for _, m := range missing {
		findings = append(findings, fmt.Sprintf("the schema %q lacks the %s", schema, m))
	}
	name := func(table string) string { return pgx.Identifier{schema, table}.Sanitize() }
	found := &tables{
		records: name("idempotency_records"), audit: name("idempotency_audit"),
		maintenance: name("idempotency_maintenance"), server: name("idempotency_server"), version: name("idempotency_schema"),
	}
	if slices.ContainsFunc(missing, func(m migrations.Part) bool { return m != migrations.Part{Table: "idempotency_audit"} }) {
		return findings, nil // what looks at the tables could not be made
	}
	e.tables = found
	var version int
	if err := e.row(ctx, versionSQL, nil, &version); err != nil {
		return findings, err
	}
	if version != pgstore.SchemaVersion {
		findings = append(findings, fmt.Sprintf("the tables in the schema %q have version %d, this release needs %d", schema, version, pgstore.SchemaVersion))
	}
	return findings, nil
}

func checkPrivileges(ctx context.Context, e *exam) ([]string, error) {
	return e.lacking(ctx,
		grant{e.tables.records, []string{"SELECT", "INSERT", "UPDATE", "DELETE"}},
		grant{e.tables.maintenance, []string{"SELECT", "INSERT", "UPDATE"}},
		grant{e.tables.server, []string{"SELECT", "INSERT"}},
		grant{e.tables.version, []string{"SELECT"}},
	)
}

func checkOperatorPrivileges(ctx context.Context, e *exam) ([]string, error) {
	return e.lacking(ctx, grant{e.tables.audit, []string{"SELECT", "INSERT"}})
}

// grant is what a role needs on a table.
type grant struct {
	table      string
	privileges []string
}

// lacking says which privileges the role lacks on tables that are there, and which of
// them it has without their rows.
func (e *exam) lacking(ctx context.Context, grants ...grant) (findings []string, err error) {
	for _, g := range grants {
		lacks, err := e.lines(ctx, privilegesSQL, g.table, g.privileges)
		if err != nil {
			return nil, err
		}
		for _, privilege := range lacks {
			findings = append(findings, fmt.Sprintf("the role lacks %s on %s", privilege, g.table))
		}
		hidden, err := e.lines(ctx, hiddenSQL, g.table, g.privileges)
		if err != nil {
			return nil, err
		}
		for _, table := range hidden {
			findings = append(findings, fmt.Sprintf("row security keeps the role from rows of %s: %s", table, rowsecurity.Remedy(table)))
		}
	}
	return findings, nil
}

func checkIndexes(ctx context.Context, e *exam) ([]string, error) {
	return e.lines(ctx, missingIndexesSQL, e.tables.records)
}

func checkExtraIndexes(ctx context.Context, e *exam) ([]string, error) {
	return e.lines(ctx, extraIndexesSQL, e.tables.records)
}
