package dedupe_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// frame is what a page leaves out around a block of Go: what the reader has already.
type frame struct{ before, after string }

// body makes a function of a block of statements, with what they use declared before,
// and used after.
func body(declared, uses string, imports ...string) frame {
	return frame{
		"import (\n\"" + strings.Join(append(imports, "context"), "\"\n\"") + "\"\n)\n\nfunc _(ctx context.Context) error {\n" + declared + "\n",
		"\n" + uses + "\nreturn nil\n}\n",
	}
}

const module = "github.com/seed5aa7bdf6/temporal-dedupe"

// frames has one frame for each block that is no package of its own, page by page.
var frames = map[string][]frame{
	"configuration.md": {body(`var store dedupe.Store
		var askProvider func(context.Context, dedupe.VerifyRequest) (dedupe.Verification, error)`, `_, _ = plugin, err`, module)},
	"testing.md": {body(`var env *testsuite.TestWorkflowEnvironment`, `_ = err`, module, module+"/store/memstore",
		"time", "go.temporal.io/sdk/converter", "go.temporal.io/sdk/testsuite", "go.temporal.io/sdk/worker")},
	"effects.md": {
		body(`type Receipt struct{}
			var provider interface{ Charge(context.Context, int) (Receipt, error) }
			var amount int`, `_, _ = receipt, err`, module),
		{`import (
			"context"
			"github.com/jackc/pgx/v5"
			"github.com/jackc/pgx/v5/pgxpool"
			"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
		)

		type (
			Ledger   struct{ Pool *pgxpool.Pool }
			Transfer struct{}
			Booking  struct{}
		)

		func write(context.Context, pgx.Tx, Transfer) (b Booking, err error) { return b, err }
		`, ""},
		body(``, `_ = payments`, module, "net/http"),
	},
	"eviction.md": {body(`var records store.Store`, ``, module+"/store")},
}

// TestPages compiles the Go of the pages, each block in a package of its own.
func TestPages(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	dir, err := os.MkdirTemp(".", "_docs") // see TestReadme
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	var blocks []string
	for _, page := range pages {
		var parts []string
		for _, block := range codeBlocks(t, page, "go") {
			if !strings.HasPrefix(block, "package ") { // a file of somebody else's module
				parts = append(parts, block)
			}
		}
		name := filepath.Base(page)
		require.Len(t, frames[name], len(parts), "%s: each block of Go has a frame", page)
		for i, block := range parts {
			file := filepath.Join(dir, fmt.Sprintf("%s%d", strings.TrimSuffix(name, ".md"), i), "block.go")
			require.NoError(t, os.Mkdir(filepath.Dir(file), 0o700))
			text := "package block\n\n" + frames[name][i].before + block + frames[name][i].after
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			blocks = append(blocks, "./"+filepath.Dir(file))
		}
	}
	require.NotEmpty(t, blocks)
	vet := exec.CommandContext(t.Context(), "go", append([]string{"vet"}, blocks...)...)
	var out bytes.Buffer
	vet.Stdout, vet.Stderr = &out, &out
	require.NoError(t, vet.Run(), out.String())
}
