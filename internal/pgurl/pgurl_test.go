package pgurl_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/pgurl"
)

// However a URL is broken, its password is not printed: neither whole nor the
// part of it that was taken for something else.
func TestBrokenURLs(t *testing.T) {
	t.Parallel()
	const escape = "percent-encoded"
	for url, want := range map[string]string{
		"nonsense":                                                  "it should look like postgres://user:password@host:5432/database",
		"mysql://me:huntersecret@host/db":                           "it should look like",
		"host=h password='hunter secret":                            "it should look like",
		"postgres://me:hunter/secret@host/db":                       escape,
		"postgres://me:hunter#secret@host/db":                       escape,
		"postgres://me:hunter?secret@host/db":                       escape,
		"postgres://me:hunter%zzsecret@host/db":                     escape,
		"postgres://me:hunter@secret@host:port/db":                  escape,
		"postgres://me:/huntersecret@host/db":                       escape,
		"postgres://me:?huntersecret@host/db":                       escape,
		"postgres://me:#huntersecret@host/db":                       escape,
		"postgres://me:/hunter@host/db?sslmode=secret":              escape,
		"postgresql://me:1/huntersecret@host/db":                    escape,
		"postgres://me:?sslmode=huntersecret@host/db":               escape,
		"postgres://me:huntersecret@host/db?sslmode=bogus":          "sslmode is invalid",
		"postgres://me:huntersecret@host/db?connect_timeout=x":      "invalid connect_timeout",
		"postgres://me:huntersecret@host/db?pool_max_conns=0":       "pool_max_conns too small",
		"postgres://me:huntersecret@h/d?default_query_exec_mode=x":  `invalid default_query_exec_mode (unknown value "x")`,
		"postgres://me:huntersecret@h/d?target_session_attrs=bogus": "unknown target_session_attrs value: bogus",
	} {
		_, err := pgurl.Parse(url)
		require.ErrorContains(t, err, "the database URL cannot be understood", url)
		require.ErrorContains(t, err, want, url)
		require.Equal(t, want == escape, strings.Contains(err.Error(), escape), url)
		for part := range strings.FieldsSeq("hunter secret") {
			require.NotContains(t, err.Error(), part, url)
		}
	}
}

func TestURLsThatCanBeRead(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"postgres://me:s%2Fc%40%3F%23%25@host:1/db%40home?application_name=a%40b&pool_max_conns=3",
		"postgres://me:s%2Fc%40%3F%23%25@one:1,two:2/db%40home?sslmode=disable",
		"host=host port=1 user=me password='s/c@?#%' dbname=db@home",
	} {
		config, err := pgurl.Parse(url)
		require.NoError(t, err, url)
		require.Equal(t, "s/c@?#%", config.ConnConfig.Password)
		require.Equal(t, "db@home", config.ConnConfig.Database)
	}
}
