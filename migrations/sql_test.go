package migrations_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/migrations"
)

func TestSQL(t *testing.T) {
	t.Parallel()

	t.Run("begins with the schema, if one is named", func(t *testing.T) {
		t.Parallel()
		up, err := migrations.SQL(migrations.DirectionUp, migrations.Options{Schema: `a"b`})
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(up, "CREATE SCHEMA IF NOT EXISTS \"a\"\"b\";\nSET search_path TO \"a\"\"b\";\n"), up)
		down, err := migrations.SQL(migrations.DirectionDown, migrations.Options{Schema: "a"})
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(down, "SET search_path TO \"a\";\n"), down)
		bare, err := migrations.SQL(migrations.DirectionUp, migrations.Options{})
		require.NoError(t, err)
		require.NotContains(t, bare, "search_path TO")
	})

	t.Run("orders up files oldest first, down files newest first", func(t *testing.T) {
		t.Parallel()
		set := steps(t, "SELECT 'two'", "SELECT 'three'")
		up, err := set.SQL(migrations.DirectionUp, migrations.Options{})
		require.NoError(t, err)
		require.Equal(t, []string{"000001_create_idempotency_records.up.sql", "000002_step.up.sql", "000003_step.up.sql"}, headings(up))
		down, err := set.SQL(migrations.DirectionDown, migrations.Options{Steps: migrations.AllSteps})
		require.NoError(t, err)
		require.Equal(t, []string{"000003_step.down.sql", "000002_step.down.sql", "000001_create_idempotency_records.down.sql"}, headings(down))
		down, err = set.SQL(migrations.DirectionDown, migrations.Options{})
		require.NoError(t, err)
		require.Equal(t, []string{"000003_step.down.sql"}, headings(down))
	})

	t.Run("refuses a direction that is neither", func(t *testing.T) {
		t.Parallel()
		_, err := migrations.SQL("sideways", migrations.Options{})
		require.ErrorContains(t, err, `not "sideways"`)
	})

	t.Run("is understood by psql, and then by Up and ReadStatus", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		options := migrations.Options{Schema: "Printed"}
		for range 2 {
			up, err := migrations.SQL(migrations.DirectionUp, options)
			require.NoError(t, err)
			out, err := b.psql(t, up)
			require.NoError(t, err, out)
			require.NoError(t, migrations.Check(t.Context(), b.url, options))
		}
		result, err := migrations.Up(t.Context(), b.url, options)
		require.NoError(t, err)
		require.Equal(t, migrations.Result{Schema: "Printed", From: 1, To: 1}, result)

		down, err := migrations.SQL(migrations.DirectionDown, options)
		require.NoError(t, err)
		out, err := b.psql(t, down)
		require.NoError(t, err, out)
		b.requireTables(t, "Printed")
	})
}

func headings(script string) []string {
	var found []string
	for line := range strings.Lines(script) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "-- 00000"); ok {
			found = append(found, "00000"+name)
		}
	}
	return found
}

func TestVersions(t *testing.T) {
	t.Parallel()
	all := migrations.All()
	require.NotEmpty(t, all)
	for i, m := range all {
		require.Equal(t, i+1, m.Version, "versions have no gap")
		require.NotEmpty(t, m.Name)
		for _, d := range []migrations.Direction{migrations.DirectionUp, migrations.DirectionDown} {
			require.FileExists(t, m.String()+"."+string(d)+".sql")
		}
	}
	require.Equal(t, len(all), migrations.Latest())
}
