package migrations_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/migrations"
)

func TestUnreachable(t *testing.T) {
	t.Parallel()

	t.Run("a server that never answers costs no more than the timeout", func(t *testing.T) {
		t.Parallel()
		address := requireSilentServer(t)
		begin := time.Now()
		_, err := migrations.Up(t.Context(), "postgres://me:s3cret@"+address+"/db",
			migrations.Options{ConnectTimeout: 150 * time.Millisecond})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "no answer from "+address+" within 150ms")
		require.NotContains(t, err.Error(), "s3cret")
		require.Less(t, time.Since(begin), 5*time.Second)
	})

	t.Run("a context that ends is honoured while connecting", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := migrations.ReadStatus(ctx, "postgres://me:s3cret@"+requireSilentServer(t)+"/db", migrations.Options{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "stopped while connecting")
	})

	t.Run("a server that is not there is named, without the password", func(t *testing.T) {
		t.Parallel()
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		address := listener.Addr().String()
		require.NoError(t, listener.Close())
		_, err = migrations.ReadStatus(t.Context(), "postgres://me:s3cret@"+address+"/db", migrations.Options{})
		require.ErrorContains(t, err, address)
		require.NotContains(t, err.Error(), "s3cret")
	})
}

// requireSilentServer accepts connections and says nothing.
func requireSilentServer(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String() // the kernel accepts on its own
}

// However a URL is broken, its password is not printed: neither whole nor the
// part of it that was taken for something else.
func TestBrokenURL(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"",
		"nonsense",
		"postgres://me:hunter/secret@host/db",
		"postgres://me:hunter#secret@host/db",
		"postgres://me:hunter?secret@host/db",
		"postgres://me:hunter%zzsecret@host/db",
		"postgres://me:hunter@secret@host:port/db",
		"postgres://me:huntersecret@host:port/db",
		"postgres://me:huntersecret@host/db?sslmode=sometimes",
		"postgres://me:huntersecret@host/db?connect_timeout=soon",
		"mysql://me:huntersecret@host/db",
		"host=h password='hunter secret",
		"host=h password=hunter secret",
	} {
		_, err := migrations.ReadStatus(t.Context(), url, migrations.Options{ConnectTimeout: time.Second})
		require.ErrorContains(t, err, "dedupe: migrations: ", url)
		for part := range strings.FieldsSeq("hunter secret") {
			require.NotContains(t, err.Error(), part, url)
		}
	}
	_, err := migrations.ReadStatus(t.Context(), "postgres://me:pw@host/db?sslmode=sometimes", migrations.Options{})
	require.ErrorContains(t, err, "sslmode", "where the URL is well-formed, the reason is told")
}
