package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/devserver/devservertest"
)

func TestDownstream(t *testing.T) {
	t.Parallel()
	temporal := devservertest.RequireServer(t).Address()
	for _, c := range []struct {
		name string
		args []string
		last string
		code int
	}{
		{"a charge that is asked for again is not made again", nil,
			"8 orders, 12 charge requests, 8 charges, 8 parcels, 0 wrong", exitOnce},
		{"with an effect it is not even asked for again", []string{"-do"},
			"8 orders, 8 charge requests, 8 charges, 8 parcels, 0 wrong", exitOnce},
		{"without keys it is made again", []string{"-transport=false"},
			"8 orders, 12 charge requests, 12 charges, 8 parcels, 4 wrong", exitFault},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), append([]string{"-temporal-address", temporal}, c.args...), &stdout, &stderr)
			t.Logf("downstream %s\n%s%s", strings.Join(c.args, " "), stdout.String(), stderr.String())
			require.Equal(t, c.code, code)
			require.Contains(t, stdout.String(), c.last+"\n")
			require.Contains(t, stdout.String(), "Keys that both services have seen: 0\n")
		})
	}
	t.Run("flags that cannot be used are named", func(t *testing.T) {
		t.Parallel()
		for _, args := range [][]string{{"-orders", "1"}, {"money"}} {
			var stderr bytes.Buffer
			require.Equal(t, exitUsage, run(t.Context(), args, &bytes.Buffer{}, &stderr))
			require.Contains(t, stderr.String(), args[0])
		}
	})
}
