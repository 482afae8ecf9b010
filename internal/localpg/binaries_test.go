package localpg_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg"
)

func TestNewestBinDir(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		dirs []string
		want string
	}{
		"a directory without initdb does not count":  {[]string{"15/bin", "17/client"}, "15/bin"},
		"a version of two parts is compared by part": {[]string{"9.6/bin", "10/bin"}, "10/bin"},
		"nothing is found in an empty place":         {nil, ""},
		"the newest of many wins":                    {[]string{"9/bin", "18/bin", "17/bin"}, "18/bin"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			for _, dir := range test.dirs {
				require.NoError(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
				require.NoError(t, os.WriteFile(filepath.Join(root, dir, "postgres"), []byte("#!"), 0o755))
				if filepath.Base(dir) == "bin" {
					require.NoError(t, os.WriteFile(filepath.Join(root, dir, "initdb"), []byte("#!"), 0o755))
				}
			}
			got := localpg.NewestBinDir([]string{root + "/*/bin", root + "/*/client"})
			if test.want == "" {
				require.Empty(t, got)
				return
			}
			require.Equal(t, filepath.Join(root, test.want), got)
		})
	}

	t.Run("Homebrew's directories are compared by version as well", func(t *testing.T) {
		t.Parallel()
		root := t.TempDir()
		for _, dir := range []string{"postgresql@9.6/bin", "postgresql@16/bin", "postgresql@15/bin"} {
			require.NoError(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
			for _, program := range []string{"postgres", "initdb"} {
				require.NoError(t, os.WriteFile(filepath.Join(root, dir, program), []byte("#!"), 0o755))
			}
		}
		require.Equal(t, filepath.Join(root, "postgresql@16/bin"), localpg.NewestBinDir([]string{root + "/postgresql*/bin"}))
	})
}
