package layers_test

import (
	"slices"
	"strings"
)

// module is this module's path.
const module = "github.com/seed5aa7bdf6/temporal-dedupe"

// rule says what the packages of a layer may import. Layers and imports are
// named relative to the module, "." being its root; "x/..." is x and all below.
type rule struct {
	// layer is a package or a tree of packages. The longest match counts.
	layer string
	// may lists what may be imported from this module.
	may []string
	// never lists modules of others that must not be imported, by prefix.
	// Nil allows all of them; anyOther allows none.
	never []string
	// why is printed when the rule is broken.
	why string
}

// anyOther stands for everything outside the standard library and this module.
var anyOther = []string{""}

var (
	drivers = []string{
		"github.com/jackc/", "github.com/redis/", "github.com/lib/pq", "github.com/golang-migrate/",
		"database/sql",
	}
	tooling = []string{"github.com/spf13/cobra", "go.opentelemetry.io/otel/sdk", "github.com/stretchr/"}
)

// services are the internal packages that start servers for tests and examples.
var services = []string{
	"internal/child/...", "internal/devserver/...", "internal/localpg/...", "internal/localredis/...", "internal/crashtest/...",
}

// The layers, from the bottom up: imports point down only.
var rules = []rule{
	{
		layer: "store", never: anyOther,
		why: "the contract is a leaf: who writes a store imports the standard library and nothing else",
	},
	{
		layer: "store/...", may: []string{"store", "internal/..."}, never: tooling,
		why: "a store knows the contract, and neither the other stores nor who calls it",
	},
	{
		layer: "store/memstore", may: []string{"store"}, never: anyOther,
		why: "a program that keeps records in memory compiles no driver",
	},
	{
		layer: "store/redisstore", may: []string{"store"}, never: append([]string{"github.com/jackc/", "github.com/lib/pq", "database/sql", "go.temporal.io/"}, tooling...),
		why: "a program that keeps records in Redis compiles no other driver, and the store does not know who calls it",
	},
	{
		layer: "store/storetest", may: []string{"store", "store/storetest/..."}, never: append(slices.Clone(drivers), "github.com/spf13/cobra"),
		why: "the suite is for stores of any kind, also those of others",
	},
	{
		layer: "migrations", may: []string{"internal/pgurl", "internal/pooler", "internal/remedy"}, never: []string{"go.temporal.io/", "github.com/redis/", "github.com/spf13/cobra"},
		why: "migrations know versions and connections, not records; and stores must not compile golang-migrate",
	},
	{
		layer: "internal/...", may: []string{"internal/...", "store"}, never: append(slices.Clone(drivers), "github.com/spf13/cobra"),
		why: "what the layers share lies below them",
	},
	{
		layer: "internal/pgurl", never: tooling,
		why: "a URL of Postgres is read by its driver, and by nothing that connects",
	},
	{
		layer: "internal/pooler", never: tooling,
		why: "a pooler is looked for with two connections, whatever they are for",
	},
	{
		layer: "internal/rowsecurity", never: anyOther,
		why: "what Postgres hides is asked in SQL, and whoever asks has a connection",
	},
	{
		layer: "internal/localpg/...", may: []string{"internal/..."},
		why: "a helper that runs Postgres talks to Postgres, and knows no records",
	},
	{
		layer: "internal/localredis/...", may: []string{"internal/..."}, never: []string{"github.com/jackc/", "github.com/spf13/cobra"},
		why: "a helper that runs Redis talks to Redis, and knows no records",
	},
	{
		layer: "internal/crashtest/...", may: []string{".", "internal/...", "migrations", "store/..."},
		why: "the harness kills workers that are put together as a user would",
	},
	{
		layer: "workflows", may: []string{"internal/...", "store"}, never: append(slices.Clone(drivers), tooling...),
		why: "workflow code supplies facts, deterministically: no activity half, no driver, no I/O",
	},
	{
		layer: "activity", may: []string{"internal/...", "store"}, never: append(slices.Clone(drivers), tooling...),
		why: "one execution of one call, against the contract and not against a database",
	},
	{
		layer: "worker", may: []string{"internal/...", "store", "activity", "workflows"}, never: append(slices.Clone(drivers), tooling...),
		why: "it wires both halves, whatever the store",
	},
	{
		layer: "worker/config", may: []string{"store", "activity"}, never: append(slices.Clone(drivers), tooling...),
		why: "a file of policies knows policies, and not who applies them",
	},
	{
		layer: ".", may: []string{"internal/...", "store", "activity", "workflows", "worker/..."}, never: append(slices.Clone(drivers), tooling...),
		why: "the front door is thin, and whoever uses it chooses the store",
	},
	{
		layer: "cmd/...", may: []string{".", "cmd/...", "internal/...", "migrations", "store/...", "activity", "workflows", "worker/..."},
		why: "the command line is on top; it imports no example",
	},
	{
		layer: "examples/...", may: []string{".", "examples/...", "internal/...", "migrations", "store/..."},
		why: "an example does what a user can do: the front door and a store, and servers to try it on",
	},
}

// mayStartServices are the layers that may import what starts servers.
var mayStartServices = []string{"internal/child/...", "internal/devserver/...", "internal/localpg/...", "internal/localredis/...", "internal/crashtest/...", "cmd/...", "examples/..."}

// fault returns why a package must not import a path, or "" if it may.
func fault(pkg, path string) string {
	r, ok := ruleFor(pkg)
	if !ok {
		return "no rule covers the package: add one to rules_test.go, with its reason"
	}
	if local, ok := relative(path); ok {
		if slices.ContainsFunc(services, covers(local)) && !slices.ContainsFunc(mayStartServices, covers(pkg)) {
			return "only tests, examples and the command line start servers"
		}
		if local != pkg && !slices.ContainsFunc(r.may, covers(local)) {
			return r.why
		}
		return ""
	}
	for _, prefix := range r.never {
		if strings.HasPrefix(path, prefix) && (prefix != "" || !standard(path)) {
			return r.why
		}
	}
	return ""
}

func ruleFor(pkg string) (found rule, ok bool) {
	best := -1
	for _, r := range rules {
		tree, isTree := strings.CutSuffix(r.layer, "/...")
		weight := 2 * len(tree)
		if !isTree {
			weight++ // a rule for the package alone comes before one for its tree
		}
		if covers(pkg)(r.layer) && weight > best {
			found, ok, best = r, true, weight
		}
	}
	return found, ok
}

// covers returns whether a pattern names the package.
func covers(pkg string) func(pattern string) bool {
	return func(pattern string) bool {
		tree, isTree := strings.CutSuffix(pattern, "/...")
		return pkg == tree || isTree && strings.HasPrefix(pkg, tree+"/")
	}
}

// relative returns a path of this module as the rules name it.
func relative(path string) (string, bool) {
	if path == module {
		return ".", true
	}
	return strings.CutPrefix(path, module+"/")
}

// standard reports whether a path belongs to the standard library: its first
// element is no host name.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}
