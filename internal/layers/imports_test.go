package layers_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestImportsPointDown(t *testing.T) {
	t.Parallel()
	found := packages(t)
	for _, pkg := range []string{"store", "migrations", "cmd/dedupe"} {
		require.Contains(t, found, pkg, "the search finds packages")
	}
	for pkg, files := range found {
		for _, f := range files {
			for _, spec := range f.syntax.Imports {
				path, err := strconv.Unquote(spec.Path.Value)
				require.NoError(t, err)
				if why := fault(pkg, path); why != "" {
					assert.Failf(t, "forbidden import", "%s imports %s: %s", f.path, path, why)
				}
			}
		}
	}
}

// The rules themselves, tried on imports that nobody has written.
func TestRules(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		pkg, path string
		allowed   bool
	}{
		{"store", "context", true},
		{"store", "go.temporal.io/sdk/temporal", false},
		{"store", module + "/internal/wire", false},
		{"store/pgstore", "github.com/jackc/pgx/v5", true},
		{"store/pgstore", module + "/store", true},
		{"store/pgstore", module + "/store/memstore", false},
		{"store/pgstore", module + "/migrations", false},
		{"store/pgstore", module + "/internal/localpg", false},
		{"store/memstore", "github.com/jackc/pgx/v5", false},
		{"store/memstore", "github.com/redis/go-redis/v9", false},
		{"store/redisstore", "github.com/redis/go-redis/v9", true},
		{"store/redisstore", "github.com/jackc/pgx/v5", false},
		{"store/redisstore", "go.temporal.io/sdk/temporal", false},
		{"store/redisstore", module + "/internal/localredis", false},
		{"internal/localredis", "github.com/redis/go-redis/v9", true},
		{"internal/localredis", module + "/store", false},
		{"activity", module + "/internal/localredis", false},
		{"store/anotherstore", module + "/activity", false},
		{"store/storetest", "github.com/stretchr/testify/require", true},
		{"store/storetest", module + "/store/memstore", false},
		{"workflows", module + "/activity", false},
		{"workflows", module + "/internal/wire", true},
		{"workflows", "go.temporal.io/sdk/workflow", true},
		{"workflows", "github.com/redis/go-redis/v9", false},
		{"activity", module + "/workflows", false},
		{"activity", module + "/worker", false},
		{"activity", "database/sql", false},
		{"worker", module + "/activity", true},
		{"worker", module, false},
		{"worker/config", module + "/activity", true},
		{"worker/config", module + "/worker", false},
		{"worker/config", "github.com/goccy/go-yaml", true},
		{"worker/config", "github.com/jackc/pgx/v5", false},
		{".", module + "/worker", true},
		{".", module + "/store/pgstore", false},
		{".", module + "/cmd/dedupe", false},
		{"migrations", module + "/store", false},
		{"cmd/dedupe/internal/command", module + "/migrations", true},
		{"cmd/dedupe/internal/command", module + "/examples/payment", false},
		{"examples/payment", module + "/store/pgstore", true},
		{"examples/payment", module + "/activity", false},
		{"internal/wire", module + "/worker", false},
		{"internal/wire", module + "/internal/devserver", false},
		{"unheardof", "context", false},
	} {
		require.Equal(t, tc.allowed, fault(tc.pkg, tc.path) == "", "%s imports %s", tc.pkg, tc.path)
	}
	for _, r := range rules {
		require.NotEmpty(t, r.why, r.layer)
	}
}
