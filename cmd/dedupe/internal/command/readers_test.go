package command_test

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/cmd/dedupe/internal/command"
)

// with adds a parameter to the bundle's URL.
func (b *bundle) with(name, value string) string {
	u, err := url.Parse(b.url)
	require.NoError(b.t, err)
	query := u.Query()
	query.Set(name, value)
	u.RawQuery = query.Encode()
	return u.String()
}

// role returns a URL with a role that has privileges, as a list of GRANTs.
func (b *bundle) role(grants ...string) string {
	u, err := url.Parse(b.url)
	require.NoError(b.t, err)
	role := "role_" + strings.TrimPrefix(u.Path, "/") + "_" + string(rune('a'+len(grants)))
	do := func(sql string) {
		_, err := b.pool.Exec(context.WithoutCancel(b.t.Context()), sql)
		require.NoError(b.t, err, sql)
	}
	do(`CREATE ROLE ` + role)
	b.t.Cleanup(func() { do(`DROP OWNED BY ` + role); do(`DROP ROLE ` + role) })
	for _, grant := range append(grants, "USAGE ON SCHEMA public") {
		do(`GRANT ` + grant + ` TO ` + role)
	}
	return b.with("role", role)
}

// A role or a session that can only read is often all that one has on call.
func TestWhoCanOnlyReadCanLook(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.hold(reservation("looked-at", "1"))
	looks := [][]string{
		{"stats"}, {"records", "list", "--held"}, {"records", "find", "--workflow", "looked-at", "--activity", "ChargePayment"},
		{"records", "show", r.Key, "--result"}, {"records", "audit"}, {"records", "release", r.Key, "--reason", "x"},
	}
	for name, link := range map[string]string{
		"a role with SELECT": b.role("SELECT ON ALL TABLES IN SCHEMA public"),
		"a session":          b.with("default_transaction_read_only", "on"),
	} {
		for _, args := range looks {
			got := run(t, link, args...)
			require.Equal(t, command.ExitOK, got.code, "%s: %v: %s", name, args, got.err)
		}
		got := run(t, link, "records", "release", r.Key, "--reason", "x", "--yes")
		require.Equal(t, command.ExitError, got.code, name)
		require.Regexp(t, `lacks INSERT on "idempotency_records", UPDATE on "idempotency_records"|the session is read-only`, got.err)
	}
	require.True(t, b.get(r.Key).Held)

	t.Run("a record is shown to who may not read the trail", func(t *testing.T) {
		link := b.role("SELECT ON idempotency_records", "SELECT ON idempotency_schema")
		got := run(t, link, "records", "show", r.Key)
		require.Equal(t, command.ExitOK, got.code, got.err)
		require.Regexp(t, `state +held\n`, got.out)
		require.NotContains(t, got.out, "no operator has changed anything")
		require.Contains(t, got.err, "the audit trail cannot be read: ")
		require.Contains(t, run(t, link, "records", "show", r.Key, "-o", "json").out, `"audit": null`)
	})
}
