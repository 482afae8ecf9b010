package migrations_test

import (
	"testing"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg/localpgtest"
)

// requirePsql returns the path of psql.
func requirePsql(t *testing.T) string {
	t.Helper()
	return localpgtest.RequireProgram(t, "psql", "/usr/lib/postgresql/*/bin/psql")
}
