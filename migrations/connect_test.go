package migrations_test

import (
	"context"
	"net"
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

// Every way into the package refuses a URL whose password may have become the
// name of the database, which errors of the driver quote.
func TestBrokenURL(t *testing.T) {
	t.Parallel()
	ways := map[string]func(string) error{
		"Up":   func(url string) error { _, err := migrations.Up(t.Context(), url, migrations.Options{}); return err },
		"Down": func(url string) error { _, err := migrations.Down(t.Context(), url, migrations.Options{}); return err },
		"ReadStatus": func(url string) error {
			_, err := migrations.ReadStatus(t.Context(), url, migrations.Options{})
			return err
		},
		"Check": func(url string) error { return migrations.Check(t.Context(), url, migrations.Options{}) },
	}
	for name, way := range ways {
		err := way("postgres://me:/hunter2@127.0.0.1:1/shop")
		require.ErrorContains(t, err, "dedupe: migrations: the database URL cannot be understood", name)
		require.ErrorContains(t, err, "percent-encoded", name)
		require.NotContains(t, err.Error(), "hunter2", name)
		require.ErrorContains(t, way("postgres://me:pw@host/db?sslmode=sometimes"), "sslmode is invalid", name)
		require.ErrorContains(t, way(""), "dedupe: migrations: the database URL is empty", name)
	}
}
