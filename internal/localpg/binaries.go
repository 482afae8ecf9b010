package localpg

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ErrNoPostgres says that Postgres's server programs were not found. Its text
// names the packages that bring them.
var ErrNoPostgres = errors.New("no Postgres server programs (postgres, initdb) on PATH or in the usual places; " +
	"install them with `apt-get install postgresql` or `brew install postgresql`")

// installDirs are patterns of directories outside PATH that hold the programs.
var installDirs = []string{
	"/usr/lib/postgresql/*/bin",                          // Debian, Ubuntu
	"/usr/pgsql-*/bin",                                   // Red Hat, from postgresql.org
	"/usr/libexec/postgresql*",                           // Alpine
	"/opt/homebrew/opt/postgresql*/bin",                  // Homebrew on Apple silicon
	"/usr/local/opt/postgresql*/bin",                     // Homebrew on Intel
	"/home/linuxbrew/.linuxbrew/opt/postgresql*/bin",     // Homebrew on Linux
	"/Applications/Postgres.app/Contents/Versions/*/bin", // Postgres.app
	"/usr/local/pgsql/bin",                               // built from source
}

// findBinDir returns the directory that holds both programs.
func findBinDir(explicit string) (string, error) {
	if explicit != "" {
		if !isBinDir(explicit) {
			return "", fmt.Errorf("localpg: Options.BinDir: %s does not hold the programs postgres and initdb", explicit)
		}
		return explicit, nil
	}
	if path, err := exec.LookPath("postgres"); err == nil && isBinDir(filepath.Dir(path)) {
		return filepath.Dir(path), nil
	}
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		if dir := strings.TrimSpace(string(out)); isBinDir(dir) {
			return dir, nil
		}
	}
	if dir := newestBinDir(installDirs); dir != "" {
		return dir, nil
	}
	return "", fmt.Errorf("localpg: %w", ErrNoPostgres)
}

func isBinDir(dir string) bool {
	for _, program := range []string{"postgres", "initdb"} {
		if _, err := exec.LookPath(filepath.Join(dir, program)); err != nil {
			return false
		}
	}
	return true
}

// newestBinDir returns, of the directories that match a pattern and hold both
// programs, the one with the highest version in its path, or "".
func newestBinDir(patterns []string) string {
	var found []string
	for _, pattern := range patterns {
		dirs, _ := filepath.Glob(pattern) // errs only on a malformed pattern
		found = append(found, slices.DeleteFunc(dirs, func(dir string) bool { return !isBinDir(dir) })...)
	}
	if len(found) == 0 {
		return ""
	}
	return slices.MaxFunc(found, func(a, b string) int { return slices.Compare(version(a), version(b)) })
}

var versionNumber = regexp.MustCompile(`(?:^|[^0-9])([0-9]+(?:\.[0-9]+)*)/?(?:bin)?$`)

// version returns the version number at the end of a directory's path, part by
// part, so that 9.6 comes before 15. A path without one comes first.
func version(dir string) []int {
	match := versionNumber.FindStringSubmatch(dir)
	if match == nil {
		return nil
	}
	var parts []int
	for part := range strings.SplitSeq(match[1], ".") {
		n, _ := strconv.Atoi(part) // digits only
		parts = append(parts, n)
	}
	return parts
}
