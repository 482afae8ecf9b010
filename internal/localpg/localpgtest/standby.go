package localpgtest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/child"
)

// RequireStandby starts a streaming standby of the server that primaryURL names,
// whose user must be a superuser, and returns the URL of the same database on
// it. It is asynchronous until the primary's synchronous_standby_names names it,
// as standby. Without pg_basebackup the test is skipped, or fails where nothing
// may be skipped.
func RequireStandby(t testing.TB, primaryURL string) string {
	t.Helper()
	backup := RequireProgram(t, "pg_basebackup", "/usr/lib/postgresql/*/bin/pg_basebackup")
	program := RequireProgram(t, "postgres", "/usr/lib/postgresql/*/bin/postgres")
	primary, err := url.Parse(primaryURL)
	require.NoError(t, err)
	config, err := pgx.ParseConfig(primaryURL)
	require.NoError(t, err)
	port, err := child.FreePort()
	require.NoError(t, err)
	user := requireOrdinaryUser(t)

	dir, err := os.MkdirTemp("", "dedupe-standby-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	if user != nil {
		require.NoError(t, os.Chown(dir, int(user.UID), int(user.GID)))
	}
	data := filepath.Join(dir, "data")
	source := fmt.Sprintf("host=%s port=%d user=%s password=%s sslmode=disable application_name=standby",
		config.Host, config.Port, config.User, config.Password)
	copied, err := child.Start(child.Options{
		Path: backup, Args: []string{"-D", data, "-R", "-X", "stream", "-c", "fast", "--no-sync", "-d", source}, Dir: dir, User: user,
	})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	require.NoError(t, copied.Wait(ctx), "pg_basebackup: %s", copied.Output())

	server, err := child.Start(child.Options{
		// max_connections may not be below the primary's.
		Path: program, Args: []string{"-D", data, "-p", strconv.Itoa(port),
			"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "max_connections=200"},
		Dir: dir, User: user, StopSignal: "INT", Grace: 30 * time.Second,
	})
	require.NoError(t, err)
	t.Cleanup(server.Stop)

	standby := *primary
	standby.Host = "127.0.0.1:" + strconv.Itoa(port)
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		conn, err := pgx.Connect(ctx, standby.String())
		if err != nil {
			return false
		}
		return conn.Close(ctx) == nil
	}, timeout, 50*time.Millisecond, "the standby does not answer")
	return standby.String()
}
