package devserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// modulePath is the module that holds tools/devserver.
const modulePath = "github.com/seed5aa7bdf6/temporal-dedupe"

// findSource returns the directory of tools/devserver: below the working
// directory or one above it, or below the module's directory as the go command
// knows it.
func findSource(ctx context.Context) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("working directory: %w", err)
	}
	for {
		if source, ok := sourceBelow(dir); ok {
			return source, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			break
		}
		dir = parent
	}
	if out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", modulePath).Output(); err == nil {
		if source, ok := sourceBelow(strings.TrimSpace(string(out))); ok {
			return source, nil
		}
	}
	return "", errors.New("tools/devserver was not found above the working directory (run inside a checkout of " + modulePath + ")")
}

// sourceBelow reports whether tools/devserver of this module is below dir.
func sourceBelow(dir string) (string, bool) {
	source := filepath.Join(dir, "tools", "devserver")
	mod, err := os.ReadFile(filepath.Join(source, "go.mod"))
	first, _, _ := strings.Cut(string(mod), "\n")
	return source, err == nil && strings.TrimSpace(first) == "module "+modulePath+"/tools/devserver"
}
