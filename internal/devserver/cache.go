package devserver

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// unusedAfter is how long a build that nobody starts stays in the cache. One
// build is about 150 MB.
const unusedAfter = 14 * 24 * time.Hour

// cachePath returns where the build of these sources belongs. The name changes
// with anything that changes the build.
func cachePath(source string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("devserver: no cache directory to build a server in (set HOME or XDG_CACHE_HOME): %w", err)
	}
	hash := sha256.New()
	_, _ = fmt.Fprintln(hash, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	entries, err := os.ReadDir(source)
	if err != nil {
		return "", fmt.Errorf("devserver: read tools/devserver: %w", err)
	}
	for _, entry := range entries { // sorted by name
		name := entry.Name()
		if entry.IsDir() || strings.HasSuffix(name, "_test.go") {
			continue
		}
		if ext := filepath.Ext(name); ext != ".go" && ext != ".mod" && ext != ".sum" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			return "", fmt.Errorf("devserver: read tools/devserver: %w", err)
		}
		_, _ = fmt.Fprintln(hash, name, len(text))
		_, _ = hash.Write(text)
	}
	name := "devserver-" + hex.EncodeToString(hash.Sum(nil))[:16]
	return filepath.Join(cache, "temporal-dedupe", name), nil
}

// isBuilt reports whether the build exists, and notes its use for prune.
func isBuilt(target string) bool {
	if _, err := os.Stat(target); err != nil {
		return false
	}
	now := time.Now()
	_ = os.Chtimes(target, now, now)
	return true
}

// prune removes builds that nobody has used for long, and what interrupted
// builds have left. It is called under the lock, so no build is in progress.
func prune(target string) {
	dir := filepath.Dir(target)
	leftovers, _ := filepath.Glob(filepath.Join(dir, "building-*")) // errs only on a malformed pattern
	for _, path := range leftovers {
		_ = os.RemoveAll(path)
	}
	builds, _ := filepath.Glob(filepath.Join(dir, "devserver-*"))
	for _, path := range builds {
		if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > unusedAfter {
			_ = os.Remove(path)
		}
	}
}
