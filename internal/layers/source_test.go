package layers_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// root is the module's directory, seen from this package.
const root = "../.."

// file is a Go file that is part of a package, whatever system it is for.
type file struct {
	path   string // relative to the module
	syntax *ast.File
	lines  int
}

// packages returns the files of each package of this module without its tests,
// by its directory. Modules within it are not part of it.
func packages(t *testing.T) map[string][]file {
	t.Helper()
	found := map[string][]file{}
	walk(t, func(path string, entry fs.DirEntry) error {
		if entry.IsDir() {
			if _, err := os.Stat(filepath.Join(root, path, "go.mod")); err == nil && path != "." {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		require.NoError(t, err)
		set := token.NewFileSet()
		syntax, err := parser.ParseFile(set, path, text, parser.ImportsOnly|parser.ParseComments)
		require.NoError(t, err)
		dir := filepath.ToSlash(filepath.Dir(path))
		found[dir] = append(found[dir], file{path: path, syntax: syntax, lines: strings.Count(string(text), "\n")})
		return nil
	})
	return found
}

// walk visits the repository's own files and directories.
func walk(t *testing.T, visit func(path string, entry fs.DirEntry) error) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		path, err = filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && path != "." && (name == "testdata" || name == "node_modules" || name == ".git" || strings.HasPrefix(name, "_")) {
			return fs.SkipDir
		}
		return visit(path, entry)
	}))
}
