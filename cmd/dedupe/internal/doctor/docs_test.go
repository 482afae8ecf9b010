package doctor_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/cmd/dedupe/internal/doctor"
)

// docs/doctor.md has one row for each check, in their order and in their words.
func TestPage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../docs/doctor.md")
	require.NoError(t, err)
	_, table, ok := strings.Cut(string(text), "| check | finding is a | what it looks at | what to do |\n|---|---|---|---|\n")
	require.True(t, ok)
	table, _, ok = strings.Cut(table, "\n\n")
	require.True(t, ok)
	rows := strings.Split(table, "\n")
	checks := doctor.Checks()
	require.Len(t, rows, len(checks))
	names := map[string]bool{}
	for i, c := range checks {
		require.Equal(t, "| `"+c.Name+"` | "+string(c.Severity)+" | "+c.Looks+" | "+c.Remedy+" |", rows[i])
		require.False(t, names[c.Name], "%s stands twice", c.Name)
		names[c.Name] = true
	}
	for _, status := range []doctor.Status{doctor.OK, doctor.Skipped, doctor.Warning, doctor.Failure, doctor.Unknown} {
		require.Contains(t, string(text), "| `"+string(status)+"` |")
	}
}
