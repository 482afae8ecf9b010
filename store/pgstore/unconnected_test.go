package pgstore_test

import (
	"crypto/tls"
	"io"
	"net"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg/localpgtest"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// requireParameters adds parameters to a URL, and a password that no error may have.
func requireParameters(t *testing.T, link string, parameters url.Values) string {
	t.Helper()
	u, err := url.Parse(link)
	require.NoError(t, err)
	if _, known := u.User.Password(); !known {
		u.User = url.UserPassword(u.User.Username(), "hunter2")
	}
	query := u.Query()
	for name, values := range parameters {
		query[name] = values
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// requireTLSServer returns the address of a server that speaks TLS as Postgres
// does, with a certificate that nobody knows, and nothing else.
func requireTLSServer(t *testing.T) string {
	t.Helper()
	certified := httptest.NewTLSServer(nil)
	t.Cleanup(certified.Close)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			if _, err := io.ReadFull(conn, make([]byte, 8)); err == nil {
				_, _ = conn.Write([]byte("S"))
				_ = tls.Server(conn, &tls.Config{Certificates: certified.TLS.Certificates, MinVersion: tls.VersionTLS12}).Handshake()
			}
			_ = conn.Close()
		}
	}()
	return listener.Addr().String()
}

// What keeps a connection from being made is told with the address, and is tried
// again only where that can help.
func TestConnectionsThatCannotBeMade(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		link   func(*testing.T) string
		with   url.Values
		want   string
		passes bool
	}{
		"a server without TLS": {
			link: func(t *testing.T) string { return localpgtest.RequireDatabase(t) }, with: url.Values{"sslmode": {"require"}},
			want: "tls error: server refused TLS connection",
		},
		"a certificate that nobody knows": {
			link: func(t *testing.T) string { return "postgres://me@" + requireTLSServer(t) + "/x" }, with: url.Values{"sslmode": {"verify-full"}},
			want: "certificate signed by unknown authority",
		},
		"a server of the wrong kind": {
			link: func(t *testing.T) string { return localpgtest.RequireDatabase(t) }, with: url.Values{"target_session_attrs": {"standby"}},
			want: "server is not in hot standby mode", passes: true,
		},
		"a database that is not there": {
			link: func(t *testing.T) string {
				u, err := url.Parse(localpgtest.RequireDatabase(t))
				require.NoError(t, err)
				u.Path = "/does_not_exist"
				return u.String()
			},
			with: url.Values{"sslmode": {"prefer"}},
			want: "no such database (SQLSTATE 3D000)",
		},
		"a parameter that nobody knows": {
			link: func(t *testing.T) string { return localpgtest.RequireDatabase(t) }, with: url.Values{"foo": {"s3cret"}},
			want: "the database refused the parameter foo of the connection string (SQLSTATE 42704)",
		},
		"a value that a parameter cannot have": {
			link: func(t *testing.T) string { return localpgtest.RequireDatabase(t) }, with: url.Values{"work_mem": {"s3cret"}, "application_name": {"x"}},
			want: "the database refused the parameter work_mem of the connection string (SQLSTATE 22023)",
		},
		"a parameter that a pooler refuses": {
			link: func(t *testing.T) string {
				return localpgtest.RequirePgBouncer(t, localpgtest.RequireDatabase(t), "pool_mode = transaction\n")
			},
			with: url.Values{"synchronous_commit": {"on"}},
			want: "unsupported startup parameter: synchronous_commit",
		},
		"nobody": {
			link: func(*testing.T) string { return "postgres://me@127.0.0.1:1/x" }, want: "connection refused", passes: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			link := requireParameters(t, c.link(t), c.with)
			o := pgstore.Options{CallTimeout: time.Minute}
			if c.passes {
				o.CallTimeout = time.Second
			}
			begun := time.Now()
			_, err := pgstore.New(t.Context(), requirePool(t, link), o)
			took := time.Since(begun)
			require.ErrorIs(t, err, store.ErrUnavailable)
			require.ErrorContains(t, err, "cannot connect to the database: ")
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, "127.0.0.1:")
			mode := c.with.Get("sslmode")
			require.Equal(t, mode != "" && mode != "prefer", strings.Contains(err.Error(), "tls"), "a way that sslmode=prefer goes on from is none: %v", err)
			require.NotContains(t, err.Error(), "hunter2")
			require.NotContains(t, err.Error(), "s3cret")
			if c.passes {
				require.Greater(t, took, o.CallTimeout/4, "it is tried again")
			} else {
				require.Less(t, took, o.CallTimeout/2, "it is not tried again")
			}
		})
	}
}
