package doctor

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// checkSchema finds the tables, for itself and for all checks that need them.
// Those are made on another version of the tables too: most of what they look at
// is the same.
func checkSchema(ctx context.Context, e *exam) ([]string, error) {
	var schema string
	var complete bool
	err := e.row(ctx, tablesSQL, []any{e.options.Schema}, &schema, &complete)
	switch {
	case errors.Is(err, pgx.ErrNoRows) && e.options.Schema != "":
		return []string{fmt.Sprintf("there is no table idempotency_records in the schema %q", e.options.Schema)}, nil
	case errors.Is(err, pgx.ErrNoRows):
		return []string{"there is no table idempotency_records on the search_path"}, nil
	case err != nil:
		return nil, err
	case !complete:
		return []string{fmt.Sprintf("the schema %q has the table idempotency_records, but not those that belong to it", schema)}, nil
	}
	name := func(table string) string { return pgx.Identifier{schema, table}.Sanitize() }
	e.tables = &tables{
		records:     name("idempotency_records"),
		maintenance: name("idempotency_maintenance"), version: name("idempotency_schema"),
	}
	var version int
	if err := e.row(ctx, versionSQL, nil, &version); err != nil || version == pgstore.SchemaVersion {
		return nil, err
	}
	return []string{fmt.Sprintf("the tables in the schema %q have version %d, this release needs %d", schema, version, pgstore.SchemaVersion)}, nil
}

func checkPrivileges(ctx context.Context, e *exam) ([]string, error) {
	missing, err := e.lines(ctx, privilegesSQL, e.tables.records)
	for i, privilege := range missing {
		missing[i] = fmt.Sprintf("the role lacks %s on %s", privilege, e.tables.records)
	}
	return missing, err
}

func checkIndexes(ctx context.Context, e *exam) ([]string, error) {
	return e.lines(ctx, missingIndexesSQL, e.tables.records)
}

func checkExtraIndexes(ctx context.Context, e *exam) ([]string, error) {
	return e.lines(ctx, extraIndexesSQL, e.tables.records)
}
