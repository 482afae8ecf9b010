package migrations

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// SQL returns what [Up] or [Down] would run, as one script for psql, without a
// database: every up file, oldest first, or the newest Steps down files, newest
// first. If Options.Schema is set, the script begins by choosing that schema,
// and by creating it on the way up.
func SQL(direction Direction, options Options) (string, error) {
	return standard.sql(direction, options)
}

func (s set) sql(direction Direction, options Options) (string, error) {
	if err := options.validate(); err != nil {
		return "", err
	}
	chosen := s.all()
	switch direction {
	case DirectionUp:
	case DirectionDown:
		slices.Reverse(chosen)
	default:
		return "", fmt.Errorf("%w, not %q", errDirection, string(direction))
	}
	chosen = chosen[:min(len(chosen), options.steps(direction))]

	var script strings.Builder
	if options.Schema != "" {
		if direction == DirectionUp {
			script.WriteString(createSchemaSQL(options.Schema) + ";\n")
		}
		script.WriteString(searchPathSQL(options.Schema) + ";\n\n")
	}
	for i, m := range chosen {
		text, err := s.read(m, direction)
		if err != nil {
			return "", err
		}
		if i > 0 {
			script.WriteString("\n")
		}
		fmt.Fprintf(&script, "-- %s.%s.sql\n%s\n", m, direction, strings.TrimSpace(text))
	}
	return script.String(), nil
}

func createSchemaSQL(schema string) string {
	return `CREATE SCHEMA IF NOT EXISTS ` + pgx.Identifier{schema}.Sanitize()
}

func searchPathSQL(schema string) string {
	return `SET search_path TO ` + pgx.Identifier{schema}.Sanitize()
}
