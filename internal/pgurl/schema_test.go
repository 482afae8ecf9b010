package pgurl_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/pgurl"
)

func TestSchemas(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "public", `Odd "name" $1`, "pgstore", strings.Repeat("x", 63)} {
		require.Empty(t, pgurl.SchemaFault(name), name)
	}
	for name, want := range map[string]string{
		strings.Repeat("ü", 32): "64 bytes long, Postgres keeps 63",
		"a\x00b":                "must be UTF-8 without zero bytes",
		"a\xff":                 "must be UTF-8 without zero bytes",
		"pg_temp":               "names that begin with pg_ are reserved by Postgres",
	} {
		require.Equal(t, want, pgurl.SchemaFault(name))
	}
}
