package crashtest_test

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/child"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/crashtest"
)

func TestPromisesHoldBehindATransactionPooler(t *testing.T) {
	t.Parallel()
	records := requireRecords(t)
	pooled := requirePgBouncer(t, records)
	bench := requireBench(t)

	t.Run("in the exec modes that work there", func(t *testing.T) {
		t.Parallel()
		var cells []crashtest.Cell
		var lanes []*crashtest.Lane
		for _, mode := range []string{"cache_describe", "exec", "simple_protocol"} {
			for _, policy := range policies {
				c := crashtest.Cell{Window: crashtest.BeforeRecord, Policy: policy, Keys: crashtest.HonoursKeys}
				cells = append(cells, c)
				lanes = append(lanes, open(t, bench, crashtest.LaneOptions{
					DatabaseURL: pooled + "&default_query_exec_mode=" + mode,
					Window:      c.Window, Policy: c.Policy, Keys: c.Keys, Victim: 3,
				}))
			}
		}
		for i, accounts := range pay(t, records, nil, lanes...) {
			requireKept(t, cells[i], accounts)
		}
	})
	for _, mode := range []string{"cache_statement", "describe_exec"} {
		t.Run("and a worker does not start in "+mode, func(t *testing.T) {
			t.Parallel()
			lane := open(t, bench, crashtest.LaneOptions{
				DatabaseURL: pooled + "&default_query_exec_mode=" + mode, Orders: 1,
			})
			require.Error(t, lane.Pay(t.Context()))
			require.ErrorContains(t, lane.Close(t.Context()), "does not work behind the transaction pooler")
		})
	}
}

// requirePgBouncer starts a PgBouncer in transaction pooling in front of a
// database, and returns the database's URL through it.
func requirePgBouncer(t *testing.T, databaseURL string) string {
	t.Helper()
	program := requireFile(t, "pgbouncer", "/usr/sbin/pgbouncer", "/usr/bin/pgbouncer", "/usr/local/bin/pgbouncer", "/opt/homebrew/bin/pgbouncer")
	config, err := pgx.ParseConfig(databaseURL)
	require.NoError(t, err)
	port, err := child.FreePort()
	require.NoError(t, err)

	// It refuses to run as root, so somebody else must be able to read its file.
	dir, err := os.MkdirTemp("", "dedupe-pgbouncer-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	settings := filepath.Join(dir, "pgbouncer.ini")
	require.NoError(t, os.WriteFile(settings, fmt.Appendf(nil, `
[databases]
%[1]s = host=%[2]s port=%[3]d dbname=%[1]s user=%[4]s password='%[5]s'
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %[6]d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 10
`, config.Database, config.Host, config.Port, config.User, config.Password, port), 0o644))

	bouncer, err := child.Start(child.Options{Path: program, Args: []string{settings}, Dir: dir, User: ordinaryUser(t), Grace: time.Second})
	require.NoError(t, err)
	t.Cleanup(bouncer.Stop)
	url := fmt.Sprintf("postgres://%s@127.0.0.1:%d/%s?sslmode=disable", config.User, port, config.Database)
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		conn, err := pgx.Connect(ctx, url)
		return err == nil && conn.Close(ctx) == nil
	}, 20*time.Second, 20*time.Millisecond, "PgBouncer does not answer")
	return url
}

// ordinaryUser is the one that Postgres itself runs as, if this one is root.
func ordinaryUser(t *testing.T) *child.User {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	require.NoError(t, err)
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	require.NoError(t, err)
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	require.NoError(t, err)
	return &child.User{UID: uint32(uid), GID: uint32(gid)}
}
