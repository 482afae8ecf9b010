package layers_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a program compiles that uses the front door and one store.
func TestWeight(t *testing.T) {
	t.Parallel()
	present := packages(t)
	for _, tc := range []struct {
		name     string
		packages []string
		without  []string
	}{
		{
			"a program that keeps records in memory compiles no driver", []string{".", "store/memstore"},
			[]string{"github.com/jackc/", "github.com/redis/", "github.com/golang-migrate/", "github.com/lib/pq"},
		},
		{
			"a program that keeps records in Postgres compiles no other driver and no migrations", []string{".", "store/pgstore"},
			[]string{"github.com/redis/", "github.com/golang-migrate/"},
		},
		{
			"a program that keeps records in Redis compiles no other driver", []string{".", "store/redisstore"},
			[]string{"github.com/jackc/", "github.com/golang-migrate/"},
		},
		{
			// testify is not in the list: Temporal's SDK itself compiles it.
			"no program compiles test tools or the command line's", []string{".", "store/memstore", "store/pgstore", "store/redisstore"},
			[]string{"github.com/spf13/", "pgregory.net/rapid", "go.uber.org/goleak", "go.opentelemetry.io/otel/sdk"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			args := []string{"list", "-deps", "-f", "{{.ImportPath}}", "./store"}
			for _, pkg := range tc.packages {
				if _, ok := present[pkg]; ok {
					args = append(args, "./"+pkg)
				}
			}
			cmd := exec.CommandContext(t.Context(), "go", args...)
			cmd.Dir = root
			out, err := cmd.Output()
			require.NoError(t, err)
			deps := strings.Fields(string(out))
			require.Contains(t, deps, module+"/store")
			for _, dep := range deps {
				for _, prefix := range tc.without {
					if dep == prefix || strings.HasPrefix(dep, strings.TrimSuffix(prefix, "/")+"/") {
						require.Failf(t, "too heavy", "%s is compiled", dep)
					}
				}
			}
		})
	}
}
