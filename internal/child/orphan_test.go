//go:build unix

package child_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOrphan(t *testing.T) {
	t.Parallel()

	t.Run("a program ends when its parent is killed", func(t *testing.T) {
		t.Parallel()
		RequireGone(t, RequireOrphan(t, "echo $$; exec sleep 600", ""))
	})

	t.Run("a program that ignores the stop signal is killed after the grace", func(t *testing.T) {
		t.Parallel()
		RequireGone(t, RequireOrphan(t, "trap '' TERM; echo $$; while :; do sleep 1; done", ""))
	})

	t.Run("the orphan directory is removed once the program has ended", func(t *testing.T) {
		t.Parallel()
		dir := filepath.Join(t.TempDir(), "with a space")
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "nested"), 0o700))
		pid := RequireOrphan(t, "echo $$; exec sleep 600", dir)
		require.Eventually(t, func() bool {
			_, err := os.Stat(dir)
			return os.IsNotExist(err)
		}, 20*time.Second, 10*time.Millisecond)
		require.False(t, running(pid), "the directory was removed under a running program")
	})

	t.Run("the program may finish its work before the directory goes", func(t *testing.T) {
		t.Parallel()
		dir, mark := t.TempDir(), filepath.Join(t.TempDir(), "finished")
		RequireGone(t, RequireOrphan(t, "trap 'test -d "+dir+" && touch "+mark+"; exit' TERM; echo $$; while :; do sleep 0.1; done", dir))
		require.FileExists(t, mark)
	})

	t.Run("the program sees the end of its standard input", func(t *testing.T) {
		t.Parallel()
		mark := filepath.Join(t.TempDir(), "eof")
		RequireGone(t, RequireOrphan(t, "trap '' TERM; echo $$; cat; touch "+mark, ""))
		require.FileExists(t, mark)
	})
}
