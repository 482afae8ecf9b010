package storetest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The page needs a store to speak of.
const mystore = `package mystore

import (
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/store/memstore"
)

type Store struct{ *memstore.Store }

func New(now func() time.Time) *Store {
	s, err := memstore.New(memstore.Options{Now: now})
	if err != nil {
		panic(err)
	}
	return &Store{s}
}
`

func TestPageAboutWritingAStore(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/writing-a-store.md")
	require.NoError(t, err)
	var blocks []string
	for _, part := range strings.Split(string(page), "```go\n")[1:] {
		block, _, ok := strings.Cut(part, "```")
		require.True(t, ok, "a block does not end")
		blocks = append(blocks, block)
	}
	require.Len(t, blocks, 2)

	t.Run("its store passes its tests as they stand", func(t *testing.T) {
		t.Parallel()
		// Within the module, so that its imports are this tree; the underscore keeps
		// it out of ./... for everybody else.
		dir, err := os.MkdirTemp(".", "_mystore")
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
		dir = filepath.Base(dir)
		path := "github.com/seed5aa7bdf6/temporal-dedupe/store/storetest/" + dir
		for name, text := range map[string]string{
			"mystore.go":      mystore,
			"supports.go":     blocks[1],
			"mystore_test.go": strings.Replace(blocks[0], "example.com/mystore", path, 1),
		} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		out, err := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-v", "-bench=.", "-benchtime=10x", "./"+dir).CombinedOutput()
		require.NoError(t, err, string(out))
		for _, ran := range []string{"--- PASS: TestStore/Fencing", "--- PASS: TestHammer", "BenchmarkStore/Replay"} {
			require.Contains(t, string(out), ran)
		}
	})

	t.Run("it names every field of a harness", func(t *testing.T) {
		t.Parallel()
		for _, field := range []string{"Store", "Advance", "Expires", "Bounded", "Close", "Admin"} {
			require.Contains(t, string(page), "| `"+field+"` |")
		}
	})
}
