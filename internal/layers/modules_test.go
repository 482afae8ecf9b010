package layers_test

import (
	"io/fs"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A module within this one that imports it needs this one's sums as well: nobody
// who builds only the root sees that they are missing.
func TestEveryModuleHasTheSumsOfWhatItImports(t *testing.T) {
	t.Parallel()
	var modules []string
	walk(t, func(path string, _ fs.DirEntry) error {
		if filepath.Base(path) == "go.mod" {
			modules = append(modules, filepath.Join(root, filepath.Dir(path)))
		}
		return nil
	})
	require.Greater(t, len(modules), 1)
	for _, dir := range modules {
		// Modules that only hold tools have no packages, which is no error.
		list := exec.CommandContext(t.Context(), "go", "-C", dir, "list", "-mod=readonly", "-deps", "-test", "./...")
		list.Env = append(list.Environ(), "GOFLAGS=", "GOWORK=off")
		out, err := list.CombinedOutput()
		assert.NoError(t, err, "run `go mod tidy` in %s: %s", dir, tail(out))
	}
}

// tail is the end of an output, where its error stands.
func tail(out []byte) string { return string(out[max(0, len(out)-500):]) }
