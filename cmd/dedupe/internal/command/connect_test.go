package command_test

import (
	"bytes"
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/cmd/dedupe/internal/command"
)

// Whoever runs a command looks on while it waits for a database that is not there.
func TestDatabasesThatDoNotAnswer(t *testing.T) {
	t.Parallel()
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	for name, c := range map[string]struct {
		url  string
		args []string
		want string
	}{
		"nobody, to count": {"postgres://me:s3cret@127.0.0.1:1/x", []string{"stats"}, "connection refused (tried for 5s)"},
		"nobody, to list":  {"postgres://me:s3cret@127.0.0.1:1/x", []string{"records", "list"}, "connection refused (tried for 5s)"},
		"nobody, to evict": {"postgres://me:s3cret@127.0.0.1:1/x", []string{"evict"}, "connection refused (tried for 5s)"},
		"no such host":     {"postgres://me:s3cret@nosuch.invalid/x", []string{"stats"}, "nosuch.invalid"},
		"a host that is silent": {
			"postgres://me:s3cret@" + silent.Addr().String() + "/x", []string{"stats"}, silent.Addr().String() + " (127.0.0.1): no answer in time",
		},
		"a silent host beside one where nobody is": {
			"postgres://me:s3cret@" + silent.Addr().String() + ",127.0.0.2:1/x", []string{"evict"}, "127.0.0.2:1: connect: connection refused",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun := time.Now()
			got := run(t, c.url, c.args...)
			require.Less(t, time.Since(begun), 20*time.Second)
			require.Equal(t, command.ExitError, got.code)
			require.Contains(t, got.err, c.want)
			require.NotContains(t, got.err, "s3cret")
		})
	}

	t.Run("an interrupted wait tells what it has seen", func(t *testing.T) {
		t.Parallel()
		ctx, interrupt := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, interrupt)
		var errs bytes.Buffer
		code := command.Run(ctx, []string{"stats", "--database-url", "postgres://me@127.0.0.1:1/x"}, command.Env{
			Out: &bytes.Buffer{}, Err: &errs, Getenv: func(string) string { return "" },
		})
		require.Equal(t, command.ExitError, code)
		require.Contains(t, errs.String(), "interrupted; the last error was: cannot connect to the database: dial tcp 127.0.0.1:1")
	})
}
