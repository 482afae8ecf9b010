package layers_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// maxLines is where a file stops having one subject.
const maxLines = 500

func TestFilesAreShort(t *testing.T) {
	t.Parallel()
	for _, files := range packages(t) {
		for _, f := range files {
			assert.LessOrEqual(t, f.lines, maxLines, "%s: a file this long has more than one subject", f.path)
		}
	}
}

func TestPackagesHaveAComment(t *testing.T) {
	t.Parallel()
	for dir, files := range packages(t) {
		var comments []string
		for _, f := range files {
			if f.syntax.Doc != nil {
				comments = append(comments, f.syntax.Doc.Text())
			}
		}
		if !assert.Len(t, comments, 1, "%s: one file has the package's comment", dir) {
			continue
		}
		want := "Package " + files[0].syntax.Name.Name + " "
		if files[0].syntax.Name.Name == "main" {
			want = "Command "
		}
		assert.True(t, strings.HasPrefix(comments[0], want), "%s: the package's comment begins with %q", dir, want)
	}
}
