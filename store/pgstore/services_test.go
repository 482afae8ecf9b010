package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/child"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/child/childtest"
)

// requirePgBouncer starts a PgBouncer before a database and returns the URL of
// the database through it.
func requirePgBouncer(t *testing.T, databaseURL, settings string) string {
	t.Helper()
	path, err := exec.LookPath("pgbouncer")
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/pgbouncer")
	}
	if err != nil {
		childtest.SkipOrFail(t, fmt.Errorf("PgBouncer is not installed: %w", err))
	}
	config, err := pgx.ParseConfig(databaseURL)
	require.NoError(t, err)
	port, err := child.FreePort()
	require.NoError(t, err)

	dir, err := os.MkdirTemp("", "dedupe-pgbouncer-") // not t.TempDir, which only root can read
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	ini := filepath.Join(dir, "pgbouncer.ini")
	require.NoError(t, os.WriteFile(ini, fmt.Appendf(nil, `
[databases]
%[1]s = host=%[2]s port=%[3]d dbname=%[1]s user=%[4]s password='%[5]s'
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %[6]d
unix_socket_dir =
auth_type = any
%[7]s
`, config.Database, config.Host, config.Port, config.User, config.Password, port, settings), 0o644))
	process, err := child.Start(child.Options{
		Path: path, Args: []string{ini}, Dir: dir, User: requireOrdinaryUser(t), StopSignal: "TERM", Grace: time.Second,
	})
	require.NoError(t, err)
	t.Cleanup(process.Stop)

	url := fmt.Sprintf("postgres://%s@127.0.0.1:%d/%s?sslmode=disable", config.User, port, config.Database)
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		conn, err := pgx.Connect(ctx, url)
		return err == nil && conn.Close(ctx) == nil
	}, 20*time.Second, 20*time.Millisecond, "PgBouncer does not answer")
	return url
}

// requireOrdinaryUser returns a user that PgBouncer runs as, since it refuses to
// as root; nil for the one who runs the test.
func requireOrdinaryUser(t *testing.T) *child.User {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		childtest.SkipOrFail(t, fmt.Errorf("nobody to run PgBouncer as: %w", err))
	}
	uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
	require.NoError(t, errors.Join(uidErr, gidErr))
	return &child.User{UID: uint32(uid), GID: uint32(gid)}
}
