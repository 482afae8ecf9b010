package layers_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// misspelled finds the short form of the product's name as a word of its own or
// as the beginning of another, but not in dedupe or deduplicate.
var misspelled = regexp.MustCompile(`(?i)dedu` + `p(?:$|[^el])`)

func TestSpelling(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"dedupe": false, "deduplicated": false, "Dedupe": false,
		"dedu" + "p": true, "dedu" + "p-key": true, "Dedu" + "pKey": true, "dedu" + "ping": true,
	} {
		require.Equal(t, want, misspelled.MatchString(text), text)
	}

	checked := 0
	walk(t, func(path string, entry fs.DirEntry) error {
		if entry.IsDir() || !isText(path) {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		require.NoError(t, err)
		checked++
		number := 0
		for line := range strings.Lines(string(text)) {
			number++
			assert.False(t, misspelled.MatchString(strings.TrimRight(line, "\n")), "%s:%d: say dedupe", path, number)
		}
		return nil
	})
	require.Greater(t, checked, 20)
}

func isText(path string) bool {
	return slices.Contains([]string{".go", ".md", ".sql", ".sh", ".yml", ".yaml", ".json", ".txt"}, filepath.Ext(path)) ||
		slices.Contains([]string{"Makefile", "run", "LICENSE"}, filepath.Base(path))
}
