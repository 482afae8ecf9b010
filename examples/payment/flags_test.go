package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFlags(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		args []string
		want string
	}{
		{"a negative number of orders is named", []string{"-orders", "-1"}, "payment: -orders is -1, want 1 to 200\n"},
		{"an argument without a dash is named", []string{"dedupe=false"}, `payment: unexpected argument "dedupe=false"; flags begin with a dash` + "\n"},
		{"an unknown flag is named", []string{"-order", "3"}, "flag provided but not defined: -order"},
		{"no rounds are refused", []string{"-crash", "-rounds", "0"}, "payment: -rounds is 0, want at least 1\n"},
		{"no orders are refused", []string{"-orders", "0"}, "payment: -orders is 0, want 1 to 200\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			require.Equal(t, exitUsage, run(t.Context(), test.args, &stdout, &stderr))
			require.Contains(t, stderr.String(), test.want)
			require.Empty(t, stdout.String())
		})
	}
}

func TestHelpDoesNotPrintTheDatabaseURL(t *testing.T) {
	t.Setenv("DATABASE_URL", "postgres://user:secret@127.0.0.1:1/shop")
	var stdout, stderr bytes.Buffer
	require.Equal(t, exitPaid, run(t.Context(), []string{"-help"}, &stdout, &stderr))
	require.Contains(t, stderr.String(), "-database-url")
	require.NotContains(t, stderr.String(), "secret")
}
