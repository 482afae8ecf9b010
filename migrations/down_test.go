package migrations_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/migrations"
)

func TestDown(t *testing.T) {
	t.Parallel()

	t.Run("takes back one migration, and only the bookkeeping stays in the end", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		set := steps(t, "CREATE TABLE IF NOT EXISTS second ()")
		_, err := set.Up(t.Context(), b.url, migrations.Options{})
		require.NoError(t, err)

		result, err := set.Down(t.Context(), b.url, migrations.Options{})
		require.NoError(t, err)
		require.Equal(t, migrations.Result{Schema: "public", From: 2, To: 1}, result)

		result, err = set.Down(t.Context(), b.url, migrations.Options{})
		require.NoError(t, err)
		require.Equal(t, migrations.Result{Schema: "public", From: 1, To: 0}, result)
		b.requireTables(t, "public", "idempotency_schema_migrations", "second")

		result, err = set.Down(t.Context(), b.url, migrations.Options{})
		require.NoError(t, err)
		require.Equal(t, migrations.Result{Schema: "public"}, result)

		_, err = set.Up(t.Context(), b.url, migrations.Options{})
		require.NoError(t, err)
	})

	t.Run("takes back everything with AllSteps", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		set := steps(t, "SELECT 1", "SELECT 2")
		_, err := set.Up(t.Context(), b.url, migrations.Options{})
		require.NoError(t, err)
		result, err := set.Down(t.Context(), b.url, migrations.Options{Steps: migrations.AllSteps})
		require.NoError(t, err)
		require.Equal(t, migrations.Result{Schema: "public", From: 3, To: 0}, result)
	})

	t.Run("does nothing where nothing is", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		result, err := migrations.Down(t.Context(), b.url, migrations.Options{})
		require.NoError(t, err)
		require.Equal(t, 0, result.To)
		b.requireTables(t, "public")
	})
}
