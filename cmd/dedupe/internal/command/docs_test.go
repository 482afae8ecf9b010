package command_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// docs/cli.md and the program's help have the same exit codes.
func TestPageOfExitCodes(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../../docs/cli.md")
	require.NoError(t, err)
	var help, documented []string
	for _, code := range regexp.MustCompile(`(?m)^  (\d)  (.*)$`).FindAllStringSubmatch(run(t, "").out, -1) {
		help = append(help, code[1]+" "+code[2])
	}
	for _, row := range regexp.MustCompile(`(?m)^\| (\d) \| (.*) \|$`).FindAllStringSubmatch(string(page), -1) {
		documented = append(documented, row[1]+" "+strings.TrimSpace(row[2]))
	}
	require.NotEmpty(t, help)
	require.Equal(t, help, documented)
}
