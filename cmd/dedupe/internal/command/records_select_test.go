package command_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/cmd/dedupe/internal/command"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// Several clusters, and several namespaces, can have their records in one table.
func TestSelectionsKeepToTheirKeyPrefixAndNamespace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	with := func(prefix, workflow, namespace string) store.Reservation {
		r := reservation(workflow, "1")
		r.Key, r.Namespace = prefix+"w/"+namespace+"/"+workflow+"/0/ChargePayment/1", namespace
		return b.hold(r)
	}
	production, staging, test := with("", "order-1", "default"), with("staging:", "order-1", "default"), with("", "order-1", "test")
	other, staged := with("staging2:", "order-2", "default"), with("staging:", "order-2", "test")
	colon := with("eu%3A1:", "order-3", "default")

	for name, c := range map[string]struct {
		args []string
		want []store.Reservation
	}{
		"of all":                         {[]string{"--held"}, []store.Reservation{production, staging, test, other, staged, colon}},
		"of a prefix, held":              {[]string{"--held", "--key-prefix", "staging"}, []store.Reservation{staging, staged}},
		"of a prefix":                    {[]string{"--key-prefix", "staging"}, []store.Reservation{staging, staged}},
		"of a prefix and a type":         {[]string{"--key-prefix", "staging", "--activity", "ChargePayment"}, []store.Reservation{staging, staged}},
		"of a prefix with a colon":       {[]string{"--held", "--key-prefix", "eu:1"}, []store.Reservation{colon}},
		"of a prefix that nobody has":    {[]string{"--held", "--key-prefix", "stag"}, nil},
		"of a prefix and a workflow":     {[]string{"--held", "--key-prefix", "staging", "--workflow", "order-1"}, []store.Reservation{staging}},
		"of a prefix and a namespace":    {[]string{"--held", "--key-prefix", "staging", "--namespace", "test"}, []store.Reservation{staged}},
		"of a workflow, held":            {[]string{"--held", "--workflow", "order-1"}, []store.Reservation{production, staging}},
		"of a workflow, held, elsewhere": {[]string{"--held", "--workflow", "order-1", "--namespace", "test"}, []store.Reservation{test}},
		"of a workflow":                  {[]string{"--workflow", "order-1"}, []store.Reservation{production}},
	} {
		var keys, found []string
		for _, r := range c.want {
			keys = append(keys, r.Key)
		}
		for _, l := range decode[[]listed](t, b.run(command.ExitOK, append([]string{"records", "list", "-o", "json"}, c.args...)...).out) {
			found = append(found, l.Key)
		}
		require.ElementsMatch(t, keys, found, name)
	}

	b.run(command.ExitOK, "records", "release", "--held", "--key-prefix", "staging", "--reason", "x", "--yes")
	for _, r := range []store.Reservation{production, test, other, colon} {
		require.True(t, b.get(r.Key).Held, r.Key)
	}
	for _, r := range []store.Reservation{staging, staged} {
		require.False(t, b.get(r.Key).Held, r.Key)
	}
}

// The keys that docs/keys.md shows are taken for keys.
func TestDocumentedKeysAreTakenForKeys(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../../docs/keys.md")
	require.NoError(t, err)
	examples := regexp.MustCompile("(?m)^\\| .* \\| `(\\S+/\\S+)` \\|$").FindAllStringSubmatch(string(page), -1)
	require.Len(t, examples, 6)
	var keys []string
	for _, example := range examples {
		keys = append(keys, example[1])
	}
	kinds := regexp.MustCompile("(?m)^\\| `([a-z])` \\|").FindAllStringSubmatch(string(page), -1)
	require.Len(t, kinds, 6)
	for _, kind := range kinds {
		for _, marks := range []string{"", "c", "l", "d", "cl", "cd", "ld", "cld"} {
			keys = append(keys, kind[1]+marks+"/default/x", "eu%3A1:"+kind[1]+marks+"/default/x")
		}
	}
	for _, key := range keys {
		got := run(t, "postgres://127.0.0.1:1/nowhere?connect_timeout=bogus", "records", "release", key, "--reason", "x")
		require.Contains(t, got.err, "the database URL cannot be understood", key)
	}
}
