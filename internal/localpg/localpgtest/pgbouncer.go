package localpgtest

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

// RequireProgram returns the path of a program that belongs to Postgres. It looks
// on PATH, then where Debian puts it: neither the server's directory nor, for
// people, /usr/sbin is on it.
func RequireProgram(t testing.TB, name, pattern string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	if found, _ := filepath.Glob(pattern); len(found) > 0 {
		return found[len(found)-1]
	}
	childtest.SkipOrFail(t, fmt.Errorf("%s is not installed", name))
	return ""
}

// RequirePgBouncer starts a PgBouncer in front of a database, with more lines for
// its configuration, and returns the database's URL through it. Without one to be
// had the test is skipped, or fails where nothing may be skipped.
func RequirePgBouncer(t testing.TB, databaseURL, settings string) string {
	t.Helper()
	path := RequireProgram(t, "pgbouncer", "/usr/sbin/pgbouncer")
	config, err := pgx.ParseConfig(databaseURL)
	require.NoError(t, err)
	port, err := child.FreePort()
	require.NoError(t, err)

	// PgBouncer refuses to run as root, so it must read its files as another.
	dir, err := os.MkdirTemp("", "dedupe-pgbouncer-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	ini := filepath.Join(dir, "pgbouncer.ini")
	require.NoError(t, os.WriteFile(ini, fmt.Appendf(nil, `
[databases]
%s = host=%s port=%d dbname=%s user=%s password='%s'
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
%s
`, config.Database, config.Host, config.Port, config.Database, config.User, config.Password, port, settings), 0o644))

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
		if err != nil {
			return false
		}
		return conn.Close(ctx) == nil
	}, 20*time.Second, 20*time.Millisecond, "PgBouncer does not answer")
	return url
}

// requireOrdinaryUser returns a user that is not root, or nil if this is one.
func requireOrdinaryUser(t testing.TB) *child.User {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
		require.NoError(t, errors.Join(uidErr, gidErr))
		return &child.User{UID: uint32(uid), GID: uint32(gid)}
	}
	childtest.SkipOrFail(t, errors.New("no user postgres or nobody to run PgBouncer as"))
	return nil
}
