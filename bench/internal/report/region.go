package report

import (
	"fmt"
	"os"
	"strings"
)

// The comments between which a page's generated part stands.
const (
	begin = "<!-- figures: begin (written by make bench) -->"
	end   = "<!-- figures: end -->"
)

// WriteRegion replaces the generated part of a page.
func WriteRegion(path, text string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("bench: page: %w", err)
	}
	written, err := replaceRegion(string(page), text)
	if err != nil {
		return fmt.Errorf("bench: %s: %w", path, err)
	}
	if err := os.WriteFile(path, []byte(written), 0o644); err != nil {
		return fmt.Errorf("bench: page: %w", err)
	}
	return nil
}

func replaceRegion(page, text string) (string, error) {
	before, rest, found := strings.Cut(page, begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return "", fmt.Errorf("no lines %q and %q, between which the figures go", begin, end)
	}
	return before + begin + "\n\n" + strings.TrimSpace(text) + "\n\n" + end + after, nil
}
