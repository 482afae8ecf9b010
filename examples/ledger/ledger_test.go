package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/devserver/devservertest"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg/localpgtest"
)

// runDemo runs the program on services of the test's, and returns its exit code and
// what it printed.
func runDemo(t *testing.T, args ...string) (code int, out string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	args = append([]string{"-temporal-address", devservertest.RequireServer(t).Address(), "-database-url", localpgtest.RequireDatabase(t)}, args...)
	code = run(t.Context(), args, &stdout, &stderr)
	t.Logf("ledger %s\n%s%s", strings.Join(args[4:], " "), stdout.String(), stderr.String())
	return code, stdout.String()
}

func TestLedger(t *testing.T) {
	t.Parallel()

	t.Run("every transfer is booked once, and the records agree with the books", func(t *testing.T) {
		t.Parallel()
		code, out := runDemo(t)
		require.Equal(t, exitBalanced, code)
		require.Contains(t, out, "24 transfers: 24 booked once, 0 twice, 0 lost\n")
		require.Contains(t, out, "10000.00 EUR before, 10000.00 EUR after; 0 of 10 accounts are wrong")
		require.Contains(t, out, "disagree about 0 of 24 transfers")
	})
	t.Run("the same faults without the plugin book transfers twice", func(t *testing.T) {
		t.Parallel()
		code, out := runDemo(t, "-dedupe=false")
		require.Equal(t, exitFault, code)
		require.Contains(t, out, "24 transfers: 16 booked once, 8 twice, 0 lost\n")
	})
	t.Run("workers that are killed in every window book every transfer once", func(t *testing.T) {
		t.Parallel()
		code, out := runDemo(t, "-crash", "-kills", "14")
		require.Equal(t, exitBalanced, code)
		require.Contains(t, out, " 0 twice, 0 lost\n")
		require.Contains(t, out, "10000.00 EUR after; 0 of 10 accounts are wrong")
		require.Equal(t, windows, strings.Count(out, "Killed      2 "), "twice in each window")
	})
	t.Run("and without the plugin they do not", func(t *testing.T) {
		t.Parallel()
		code, out := runDemo(t, "-crash", "-kills", "7", "-dedupe=false")
		require.Equal(t, exitFault, code)
		require.NotContains(t, out, " 0 twice")
	})
	t.Run("flags that cannot be used are named", func(t *testing.T) {
		t.Parallel()
		for _, args := range [][]string{{"-transfers", "2"}, {"-kills", "0"}, {"money"}} {
			var stderr bytes.Buffer
			require.Equal(t, exitUsage, run(t.Context(), args, &bytes.Buffer{}, &stderr))
			require.Contains(t, stderr.String(), args[0])
		}
	})
}
