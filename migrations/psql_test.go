package migrations_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/migrations"
)

// The ways to apply a file can be mixed in any order.
func TestPsql(t *testing.T) {
	t.Parallel()

	way := map[string]func(*testing.T, *testBundle){
		"psql up":   func(t *testing.T, b *testBundle) { b.requirePsqlFile(t, upFile) },
		"psql down": func(t *testing.T, b *testBundle) { b.requirePsqlFile(t, downFile) },
		"Up": func(t *testing.T, b *testBundle) {
			_, err := migrations.Up(t.Context(), b.url, migrations.Options{})
			require.NoError(t, err)
		},
		"Down": func(t *testing.T, b *testBundle) {
			_, err := migrations.Down(t.Context(), b.url, migrations.Options{})
			require.NoError(t, err)
		},
	}
	isUp := map[string]bool{"psql up": true, "Up": true}

	for name, order := range map[string][]string{
		"psql alone":                      {"psql up", "psql up", "psql down", "psql down", "psql up"},
		"psql, then Up":                   {"psql up", "Up", "psql up", "Up"},
		"Up, then psql":                   {"Up", "psql up", "Up"},
		"taken back by psql":              {"Up", "psql down", "Up"},
		"taken back by Down":              {"psql up", "Down", "psql up", "Down", "Up"},
		"taken back twice, by either way": {"Up", "Down", "psql down", "Down", "psql up", "psql down", "Down"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			for _, step := range order {
				way[step](t, b)
				status, err := migrations.ReadStatus(t.Context(), b.url, migrations.Options{})
				require.NoError(t, err)
				require.False(t, status.Dirty)
				if isUp[step] {
					require.NoError(t, status.Check(), step)
					require.Len(t, status.Applied, 1)
				} else {
					require.ErrorIs(t, status.Check(), migrations.ErrPending, step)
					require.Empty(t, status.Applied)
				}
			}
		})
	}
}

func TestPsqlFailure(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.requireExec(t, `CREATE TABLE idempotency_audit (in_the_way int)`)
	_, err := b.psql(t, "", "-f", upFile)
	require.Error(t, err)
	b.requireTables(t, "public", "idempotency_audit")
}
