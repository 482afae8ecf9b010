package layers_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	// link is the target of a link in Markdown.
	link = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	// page is a page that a text names by its path from the root.
	page = regexp.MustCompile(`(?:^|[\s(` + "`" + `])(docs/[a-z-]+\.md)\b`)
	// heading is a line that others can link to.
	heading = regexp.MustCompile(`(?m)^#+ +(.+)$`)
)

// pages returns the repository's pages with their texts.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	walk(t, func(path string, entry fs.DirEntry) error {
		if entry.IsDir() || filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		require.NoError(t, err)
		found[path] = string(text)
		return nil
	})
	return found
}

// anchors are the fragments by which a page's headings are linked to.
func anchors(text string) []string {
	var found []string
	for _, match := range heading.FindAllStringSubmatch(text, -1) {
		kept := strings.Map(func(r rune) rune {
			if strings.ContainsRune(",.:;?!()`'\"*/", r) {
				return -1
			}
			return r
		}, strings.ToLower(match[1]))
		found = append(found, strings.ReplaceAll(kept, " ", "-"))
	}
	return found
}

func TestLinksOfPagesLeadSomewhere(t *testing.T) {
	t.Parallel()
	links := 0
	for path, text := range pages(t) {
		for _, match := range link.FindAllStringSubmatch(text, -1) {
			target, fragment, _ := strings.Cut(match[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			links++
			to := path
			if target != "" {
				to = filepath.Join(filepath.Dir(path), filepath.FromSlash(target))
			}
			if _, err := os.Stat(filepath.Join(root, to)); !assert.NoError(t, err, "%s links to %s", path, match[1]) || fragment == "" {
				continue
			}
			linked, err := os.ReadFile(filepath.Join(root, to))
			require.NoError(t, err)
			assert.Contains(t, anchors(string(linked)), fragment, "%s links to %s", path, match[1])
		}
		for _, match := range page.FindAllStringSubmatch(text, -1) {
			assert.FileExists(t, filepath.Join(root, match[1]), "%s names %s", path, match[1])
		}
	}
	require.NotZero(t, links)
}
