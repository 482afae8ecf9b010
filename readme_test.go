package dedupe_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// codeBlocks returns the fenced blocks of a language in a page.
func codeBlocks(t *testing.T, page, language string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	var blocks []string
	for rest := string(text); ; {
		_, after, ok := strings.Cut(rest, "```"+language+"\n")
		if !ok {
			return blocks
		}
		block, tail, ok := strings.Cut(after, "```")
		require.True(t, ok, "%s: a block does not end", page)
		blocks, rest = append(blocks, block), tail
	}
}

// The README's program needs a workflow, and its activity a provider.
const readmeRest = `package main

import (
	"context"

	"go.temporal.io/sdk/workflow"

	"github.com/seed5aa7bdf6/temporal-dedupe"
)

type (
	Order   struct{ ID string }
	Receipt struct{ ID string }
	psp     struct{}
)

var provider psp

func (psp) Charge(context.Context, Order, string) (Receipt, error) { return Receipt{}, nil }

func PaymentWorkflow(workflow.Context, Order) error { return nil }

`

func TestReadme(t *testing.T) {
	t.Parallel()
	t.Run("its Go code compiles as it stands", func(t *testing.T) {
		t.Parallel()
		blocks := codeBlocks(t, "README.md", "go")
		require.Len(t, blocks, 2)
		// Within the module, so that its imports are this tree; the underscore
		// keeps it out of ./... for everybody else.
		dir, err := os.MkdirTemp(".", "_readme")
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
		require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(blocks[0]), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "rest.go"), []byte(readmeRest+blocks[1]), 0o600))
		vet := exec.CommandContext(t.Context(), "go", "vet", "./"+dir)
		var out bytes.Buffer
		vet.Stdout, vet.Stderr = &out, &out
		require.NoError(t, vet.Run(), out.String())
	})

	t.Run("its commands run outside of a clone", func(t *testing.T) {
		t.Parallel()
		for _, page := range []string{"README.md", "docs/cli.md"} {
			text, err := os.ReadFile(page)
			require.NoError(t, err)
			commands := strings.Split(string(text), "github.com/seed5aa7bdf6/temporal-dedupe/cmd/dedupe")[1:]
			require.NotEmpty(t, commands, page)
			for _, rest := range commands {
				require.True(t, strings.HasPrefix(rest, "@latest"), "%s: …/cmd/dedupe%.20s", page, rest)
			}
		}
	})

	t.Run("the pages it points to exist", func(t *testing.T) {
		t.Parallel()
		text, err := os.ReadFile("README.md")
		require.NoError(t, err)
		links := 0
		for _, part := range strings.Split(string(text), "](")[1:] {
			target, _, _ := strings.Cut(part, ")")
			links++
			require.FileExists(t, target)
		}
		require.NotZero(t, links)
	})
}
