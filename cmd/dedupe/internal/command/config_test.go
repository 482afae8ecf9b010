package command_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/cmd/dedupe/internal/command"
)

// requireFile writes a file and returns its path.
func requireFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "dedupe.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestConfigCheck(t *testing.T) {
	t.Parallel()
	const wrong = "activities:\n  Charge:\n    retention: 7d\n    scpoe: run\n"

	t.Run("prints every problem with its place", func(t *testing.T) {
		t.Parallel()
		path := requireFile(t, wrong)
		got := run(t, "", "config", "check", path)
		require.Equal(t, command.ExitError, got.code)
		require.Empty(t, got.err)
		lines := strings.Split(strings.TrimSpace(got.out), "\n")
		require.Len(t, lines, 2)
		require.Contains(t, lines[0], path+`:3:16: activities.Charge.retention: "7d": days and weeks are no units`)
		require.Contains(t, lines[1], path+":4:5: activities.Charge.scpoe: no such field")
	})

	t.Run("is content with a file that can be used", func(t *testing.T) {
		t.Parallel()
		path := requireFile(t, "activities:\n  Charge: {}\n")
		require.Equal(t, outcome{out: path + ": can be used; it names 1 activity types\n"}, run(t, "", "config", "check", path))
	})

	t.Run("warns of types that a list does not have", func(t *testing.T) {
		t.Parallel()
		path := requireFile(t, "activities:\n  Chrage: {}\n  Refund: {}\n")
		got := run(t, "", "config", "check", path, "--activities", "Charge,Refund")
		require.Equal(t, command.ExitOK, got.code)
		require.Contains(t, got.out, path+":2:3: activities.Chrage: names an activity type that is not in the list")
		require.NotContains(t, got.out, "Refund")
	})

	t.Run("tells the same in JSON", func(t *testing.T) {
		t.Parallel()
		got := run(t, "", "config", "check", "-o", "json", requireFile(t, wrong))
		require.Equal(t, command.ExitError, got.code)
		var answer struct {
			File               string
			Problems, Warnings []struct {
				Line, Column int
				Field, Text  string
			}
		}
		require.NoError(t, json.Unmarshal([]byte(got.out), &answer))
		require.Len(t, answer.Problems, 2)
		require.Equal(t, "activities.Charge.scpoe", answer.Problems[1].Field)
		require.NotNil(t, answer.Warnings)
	})

	t.Run("fails where there is no file", func(t *testing.T) {
		t.Parallel()
		got := run(t, "", "config", "check", filepath.Join(t.TempDir(), "absent.yaml"))
		require.Equal(t, command.ExitError, got.code)
		require.Contains(t, got.err, "dedupe: read the configuration: ")
	})

	t.Run("wants one file", func(t *testing.T) {
		t.Parallel()
		for _, args := range [][]string{{"config", "check"}, {"config", "show"}, {"config", "show", "a", "b"}} {
			require.Equal(t, command.ExitUsage, run(t, "", args...).code)
		}
	})
}

func TestConfigShow(t *testing.T) {
	t.Parallel()
	const text = "defaults:\n  retention: 24h\nactivities:\n  Charge:\n    takeover: refuse\n  Load:\n    off: true\n"

	t.Run("shows each value and its line", func(t *testing.T) {
		t.Parallel()
		path := requireFile(t, text)
		got := run(t, "", "config", "show", path)
		require.Equal(t, command.ExitOK, got.code, got.err)
		require.Regexp(t, `(?m)^Charge +takeover +refuse +\S+dedupe\.yaml:5$`, got.out)
		require.Regexp(t, `(?m)^Charge +retention +24h0m0s +\S+dedupe\.yaml:2$`, got.out)
		require.Regexp(t, `(?m)^Charge +wait_limit +10s +default$`, got.out)
		require.Regexp(t, `(?m)^Load +off +true +\S+dedupe\.yaml:7$`, got.out)
		require.NotRegexp(t, `(?m)^Load +retention`, got.out)
		require.Regexp(t, `(?m)^\(code\) +retention +24h0m0s +\S+dedupe\.yaml:2$`, got.out)
	})

	t.Run("shows a change of values, and of nothing else, for diff", func(t *testing.T) {
		t.Parallel()
		before := run(t, "", "config", "show", "--values", requireFile(t, text))
		reordered := "# a comment\nactivities:\n  Load: {off: true}\n  Charge: {takeover: refuse}\ndefaults: {retention: 24h}\n"
		require.Equal(t, before, run(t, "", "config", "show", "--values", requireFile(t, reordered)))

		after := run(t, "", "config", "show", "--values", requireFile(t, strings.Replace(text, "refuse", "reexecute", 1)))
		var changed []string
		was := strings.Split(before.out, "\n")
		for i, line := range strings.Split(after.out, "\n") {
			if line != was[i] {
				changed = append(changed, strings.Join(strings.Fields(line), " "))
			}
		}
		require.Equal(t, []string{"Charge takeover reexecute"}, changed)
	})

	t.Run("shows types that it is asked for", func(t *testing.T) {
		t.Parallel()
		got := run(t, "", "config", "show", requireFile(t, text), "--activities", "Refund")
		require.Regexp(t, `Refund +- +not deduplicated, unless code has a policy`, got.out)
		require.NotContains(t, got.out, "Charge")
	})

	t.Run("reads standard input, and tells in JSON", func(t *testing.T) {
		t.Parallel()
		var out, errs bytes.Buffer
		code := command.Run(t.Context(), []string{"config", "show", "-", "--output", "json"}, command.Env{
			In: strings.NewReader(text), Out: &out, Err: &errs, Getenv: func(string) string { return "" },
		})
		require.Equal(t, command.ExitOK, code, errs.String())
		var answer struct {
			File       string
			Activities []struct {
				Activity, Source string
				Settings         []struct{ Field, Value, Source string }
			}
		}
		require.NoError(t, json.Unmarshal(out.Bytes(), &answer))
		require.Equal(t, "stdin", answer.File)
		require.Equal(t, "stdin:4", answer.Activities[0].Source)
		require.Equal(t, "stdin:2", answer.Activities[0].Settings[2].Source)
	})
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		got := run(t, "", "completion", shell)
		require.Equal(t, command.ExitOK, got.code)
		require.Contains(t, got.out, "dedupe", shell)
		require.Empty(t, got.err)
	}
	got := run(t, "", "__complete", "config", "")
	require.Contains(t, got.out, "check\t")
	require.Contains(t, run(t, "", "__complete", "records", "").out, "release\t")
	require.Contains(t, run(t, "", "__complete", "records", "list", "--status", "").out, "in_progress\n")
	require.Contains(t, run(t, "", "__complete", "stats", "--output", "").out, "json\n")
}
