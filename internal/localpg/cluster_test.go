package localpg_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/child/childtest"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg/localpgtest"
)

func requireConn(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func requireValue[T any](t *testing.T, conn *pgx.Conn, query string) T {
	t.Helper()
	var v T
	require.NoError(t, conn.QueryRow(t.Context(), query).Scan(&v))
	return v
}

func TestCluster(t *testing.T) {
	t.Parallel()

	t.Run("a database is empty, named as asked, and apart from the others", func(t *testing.T) {
		t.Parallel()
		c := localpgtest.RequireCluster(t, localpg.Options{})
		url, err := c.Database(t.Context(), `odd "name"`)
		require.NoError(t, err)
		conn := requireConn(t, url)
		require.Equal(t, `odd "name"`, requireValue[string](t, conn, "SELECT current_database()"))
		require.Zero(t, requireValue[int](t, conn, "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"))
		_, err = c.Database(t.Context(), `odd "name"`)
		require.ErrorContains(t, err, "already exists")
	})

	t.Run("fsync stays on, and settings reach the server", func(t *testing.T) {
		t.Parallel()
		c := localpgtest.RequireCluster(t, localpg.Options{Settings: map[string]string{"max_connections": "17"}})
		conn := requireConn(t, c.URL())
		require.Equal(t, "on", requireValue[string](t, conn, "SHOW fsync"))
		require.Equal(t, "17", requireValue[string](t, conn, "SHOW max_connections"))
	})

	t.Run("nobody gets in without the password", func(t *testing.T) {
		t.Parallel()
		c := localpgtest.RequireCluster(t, localpg.Options{})
		config, err := pgx.ParseConfig(c.URL())
		require.NoError(t, err)
		config.Password = "guess"
		_, err = pgx.ConnectConfig(t.Context(), config)
		require.ErrorContains(t, err, "password authentication failed")
	})

	t.Run("committed rows survive Kill and Restart, under the same URL", func(t *testing.T) {
		t.Parallel()
		c := localpgtest.RequireCluster(t, localpg.Options{})
		conn := requireConn(t, c.URL())
		_, err := conn.Exec(t.Context(), "CREATE TABLE kept AS SELECT 42 AS n")
		require.NoError(t, err)

		c.Kill()
		c.Kill()
		require.Error(t, conn.Ping(t.Context()), "the session outlived the server")
		_, err = pgx.Connect(t.Context(), c.URL())
		require.Error(t, err)

		require.NoError(t, c.Restart(t.Context()))
		require.Equal(t, 42, requireValue[int](t, requireConn(t, c.URL()), "SELECT n FROM kept"))
	})

	t.Run("Restart of a running server ends its sessions", func(t *testing.T) {
		t.Parallel()
		c := localpgtest.RequireCluster(t, localpg.Options{})
		before := requireConn(t, c.URL())
		require.NoError(t, c.Restart(t.Context()))
		require.Error(t, before.Ping(t.Context()))
		require.NoError(t, requireConn(t, c.URL()).Ping(t.Context()))
	})

	t.Run("Stop removes the directory, may be repeated, and is final", func(t *testing.T) {
		t.Parallel()
		c := localpgtest.RequireCluster(t, localpg.Options{})
		dir := requireValue[string](t, requireConn(t, c.URL()), "SHOW data_directory")
		require.DirExists(t, dir)
		require.NoError(t, c.Stop())
		require.NoError(t, c.Stop())
		require.NoDirExists(t, filepath.Dir(dir))
		require.ErrorContains(t, c.Restart(t.Context()), "stopped for good")
	})

	t.Run("libfaketime shifts the clock, and Restart can shift it again", func(t *testing.T) {
		t.Parallel()
		libs, _ := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1")
		if len(libs) == 0 {
			childtest.SkipOrFail(t, errors.New("libfaketime is not installed (apt-get install faketime)"))
		}
		env := func(shift string) []string {
			return []string{"LD_PRELOAD=" + libs[0], "FAKETIME=" + shift, "FAKETIME_DONT_FAKE_MONOTONIC=1"}
		}
		ahead := func(c *localpg.Cluster) time.Duration {
			return time.Until(requireValue[time.Time](t, requireConn(t, c.URL()), "SELECT clock_timestamp()")).Round(time.Hour)
		}
		c := localpgtest.RequireCluster(t, localpg.Options{Env: env("+10h")})
		require.Equal(t, 10*time.Hour, ahead(c))
		c.Kill()
		require.NoError(t, c.Restart(t.Context(), env("+20h")...))
		require.Equal(t, 20*time.Hour, ahead(c))
	})
}

func TestClusterOfAKilledProcess(t *testing.T) {
	t.Parallel()
	localpgtest.RequireDatabase(t) // skips where there is no Postgres
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), parentVar+"=1")
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	url, readErr := bufio.NewReader(stdout).ReadString('\n')
	var dir string
	if readErr == nil {
		dir = requireValue[string](t, requireConn(t, strings.TrimSpace(url)), "SHOW data_directory")
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGKILL))
	require.Error(t, cmd.Wait())
	require.NoError(t, readErr)

	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Dir(dir))
		return os.IsNotExist(err)
	}, 30*time.Second, 20*time.Millisecond, "the cluster outlived its parent")
	_, err = pgx.Connect(t.Context(), strings.TrimSpace(url))
	require.Error(t, err)
}

func TestStart(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options localpg.Options
		want    string
	}{
		"a directory without the programs is named": {localpg.Options{BinDir: "/nowhere"}, "Options.BinDir: /nowhere"},
		"a setting that is no name is refused":      {localpg.Options{Settings: map[string]string{"a b": ""}}, `Options.Settings: "a b"`},
		"a timeout below zero is refused":           {localpg.Options{StartTimeout: -1}, "Options.StartTimeout"},
		"the port is the cluster's own":             {localpg.Options{Settings: map[string]string{"port": "1"}}, "Options.Settings: port"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := localpg.Start(t.Context(), test.options)
			require.ErrorContains(t, err, test.want)
		})
	}

	t.Run("a setting the server refuses is quoted from its output", func(t *testing.T) {
		t.Parallel()
		localpgtest.RequireDatabase(t)
		_, err := localpg.Start(t.Context(), localpg.Options{Settings: map[string]string{"shared_buffers": "plenty"}})
		require.ErrorContains(t, err, `invalid value for parameter "shared_buffers"`)
	})

	t.Run("the end of the context ends the start", func(t *testing.T) {
		t.Parallel()
		localpgtest.RequireDatabase(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := localpg.Start(ctx, localpg.Options{})
		require.ErrorIs(t, err, context.Canceled)
	})
}

func TestOpen(t *testing.T) {
	t.Parallel()

	t.Run("a given URL is used and left alone", func(t *testing.T) {
		t.Parallel()
		given := localpgtest.RequireDatabase(t)
		url, stop, err := localpg.Open(t.Context(), given, localpg.Options{})
		require.NoError(t, err)
		require.Equal(t, given, url)
		require.NoError(t, stop())
		require.NoError(t, requireConn(t, given).Ping(t.Context()))
	})

	t.Run("a given URL that does not answer is an error, not a reason to start a server", func(t *testing.T) {
		t.Parallel()
		_, _, err := localpg.Open(t.Context(), "postgres://nobody@127.0.0.1:1/none", localpg.Options{})
		require.ErrorContains(t, err, "the given database does not answer")
	})

	t.Run("no URL gives a private cluster", func(t *testing.T) {
		t.Parallel()
		localpgtest.RequireDatabase(t)
		url, stop, err := localpg.Open(t.Context(), "", localpg.Options{})
		require.NoError(t, err)
		require.NoError(t, requireConn(t, url).Ping(t.Context()))
		require.NoError(t, stop())
	})
}
