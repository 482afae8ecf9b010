package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/worker/config"
)

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, text string
		want       []string // problems, as they stand after the file's name
	}{
		{"an empty file", "", []string{`1:1: the file is empty: give it a block "activities" or "defaults"`}},
		{"a file of comments", "# later\n", []string{"1:1: the file is empty"}},
		{"a file that says nothing", "{}", []string{"1:1: the file says nothing"}},
		{"a second document", "activities:\n  A: {}\n---\ndefaults:\n  scope: run\n", []string{"3:1: the file holds more than one document"}},
		{"a file that is a list", "- A\n", []string{"1:1: is a list, want a block of names and values"}},
		{"bytes that are no text", "activities:\n  \xff: {}\n", []string{"1:1: the file is not UTF-8"}},
		{"what is no YAML", "activities:\n  A: [1\n", []string{"2:6: no YAML: sequence end token ']' not found"}},
		{"a tab for indentation", "activities:\n\tA: {}\n", []string{"2:1: no YAML: found character"}},
		{"an asterisk without quotes", "activities:\n  *: {}\n", []string{`2:6: no YAML: value is not allowed in this context (an activity type that is * or begins with it needs quotes: "*")`}},
		{"an unknown block", "activites:\n  A: {}\n", []string{"1:1: activites: no such block: want defaults or activities"}}, //nolint:misspell // as a user misspells it
		{"activities without one", "activities:\n", []string{"1:1: activities: is empty, want a block of names and values"}},
		{"no activities in braces", "activities: {}\n", []string{"1:1: activities: names no activity type"}},
		{"a nameless activity", "activities:\n  \"\": {}\n", []string{"2:3: activities: an activity type has no empty name"}},
		{"a name that is a number", "activities:\n  12: {}\n", []string{"2:3: activities: the name 12 is a number, want text; put it in quotes if it is meant"}},
		{"an unknown field", "activities:\n  A:\n    retentoin: 24h\n", []string{"3:5: activities.A.retentoin: no such field: want one of off, scope, retention,"}},
		{"an unknown field in braces", "activities:\n  A: {retention: 24h, ttl: 3}\n", []string{"2:23: activities.A.ttl: no such field"}},
		{"a policy that is a word", "activities:\n  A: reexecute\n", []string{"2:6: activities.A: is text, want a block"}},
		{"a scope that is none", "activities:\n  A:\n    scope: workflow\n", []string{`3:12: activities.A.scope: "workflow" is no value of it: want workflow_id, execution, run`}},
		{"a takeover that is none", "defaults:\n  takeover: retry\n", []string{`2:13: defaults.takeover: "retry" is no value of it: want reexecute, refuse, verify`}},
		{"an answer to others that is none", "defaults:\n  on_other_execution: any\n", []string{`2:23: defaults.on_other_execution: "any" is no value of it: want refuse, replay`}},
		{"an answer to outages that is none", "defaults:\n  on_store_error: open\n", []string{`want fail_closed, run_unprotected`}},
		{"days", "defaults:\n  retention: 7d\n", []string{`2:14: defaults.retention: "7d": days and weeks are no units, since not every day has 24 hours: write hours, as "168h" for a week`}},
		{"a duration without a unit", "defaults:\n  wait_limit: 30\n", []string{`2:15: defaults.wait_limit: 30 has no unit: write "30s", "30m" or "30h"`}},
		{"a duration that is a word", "defaults:\n  wait_limit: long\n", []string{`"long" is no duration`}},
		{"a duration of millennia", "defaults:\n  retention: 99999999h\n", []string{`2:14: defaults.retention: "99999999h" is too long: want 2562047h or less`}},
		{"a duration of millennia, in parts", "defaults:\n  retention: 2562047h48m\n", []string{`"2562047h48m" is too long`}},
		{"a duration below zero", "defaults:\n  wait_limit: -3s\n", []string{`-3s is negative`}},
		{"a duration of nothing", "defaults:\n  max_overrun: 0s\n", []string{`zero is no value: leave the field out for its default`}},
		{"a short retention", "defaults:\n  retention: 30s\n", []string{"2:14: defaults.retention: 30s is too short: want 1m0s or more"}},
		{"yes for true", "defaults:\n  require_header: yes\n", []string{`2:19: defaults.require_header: "yes" is neither true nor false`}},
		{"a size with a unit", "defaults:\n  max_result_bytes: 2MiB\n", []string{`"2MiB" is no size: want a number of bytes of 1 or more, or unlimited`}},
		{"a size of nothing", "defaults:\n  max_result_bytes: 0\n", []string{`"0" is no size`}},
		{"a list for a value", "defaults:\n  scope: [run]\n", []string{"2:10: defaults.scope: is a list, want a single value"}},
		{"a value that is missing", "defaults:\n  scope:\n", []string{"2:3: defaults.scope: is empty, want a single value"}},
		{"an anchor", "defaults:\n  scope: &s run\n", []string{"2:10: defaults.scope: is an anchor or alias, which are not understood"}},
		{"an alias", "defaults: &d\n  scope: run\nactivities:\n  A: *d\n", []string{"1:11: defaults: is an anchor or alias", "4:6: activities.A: is an anchor or alias"}},
		{"a merge", "activities:\n  A:\n    <<: {scope: run}\n", []string{"3:5: activities.A: the name << is an anchor or alias"}},
		{"off for everything", "defaults:\n  off: true\n", []string{"2:3: defaults.off: stands under an activity type only"}},
		{"an activity that stands twice", "activities:\n  A: {}\n  B: {}\n  A: {}\n", []string{"4:3: activities.A: stands twice, first in line 2"}},
		{"a field that stands twice", "activities:\n  A:\n    scope: run\n    scope: run\n", []string{"4:5: activities.A.scope: stands twice, first in line 3"}},
		{"a block that stands twice", "activities:\n  A: {}\nactivities:\n  B: {}\n", []string{"3:1: activities: stands twice, first in line 1"}},
		{"settings of a type that is off", "activities:\n  A:\n    off: true\n    scope: run\n", []string{"4:5: activities.A.scope: does nothing, since activities.A.off is true"}},
		{"an overrun beyond retention", "activities:\n  A:\n    retention: 1h\n    max_overrun: 2h\n", []string{"4:5: activities.A.max_overrun: 2h0m0s is longer than the retention of 1h0m0s"}},
		{"an overrun beyond the default retention", "activities:\n  A:\n    max_overrun: 200h\n", []string{"3:5: activities.A.max_overrun: 200h0m0s is longer than the retention of 168h0m0s"}},
		{"a retention below the default overrun", "defaults:\n  max_overrun: 2h\nactivities:\n  A:\n    retention: 1h\n", []string{"5:5: activities.A.retention: 1h0m0s is shorter than the max_overrun of 2h0m0s, which defaults sets"}},
		{"a wait beyond retention", "defaults:\n  retention: 1m\n  wait_limit: 2m\n", []string{"3:3: defaults.wait_limit: 2m0s is longer than the retention of 1m0s"}},
		{"a timeout for a verifier that is not asked", "activities:\n  A:\n    takeover: refuse\n    verify_timeout: 3s\n", []string{"4:5: activities.A.verify_timeout: does nothing under takeover refuse (line 3)"}},
		{
			"contradictions beside what cannot be read", "activities:\n  A:\n    takeover: Refuse\n  B:\n    max_overrun: 200h\n  C:\n    off: true\n    takeover: refuse\n",
			[]string{"3:15: activities.A.takeover", "5:5: activities.B.max_overrun: 200h0m0s is longer", "8:5: activities.C.takeover: does nothing"},
		},
		{
			"no contradiction to what may have been meant", "activities:\n  A:\n    max_overrun: 200h\n    retention: 30d\n  B:\n    wait_limit: 200h\n    retenion: 300h\n",
			[]string{"4:16: activities.A.retention", "7:5: activities.B.retenion: no such field"},
		},
		{
			"no contradiction to defaults that cannot be read", "defaults:\n  retention: 30d\nactivities:\n  A:\n    max_overrun: 200h\n  B:\n    retention: 1h\n    wait_limit: 2h\n",
			[]string{"2:14: defaults.retention", "8:5: activities.B.wait_limit: 2h0m0s is longer"},
		},
		{
			"what a block that is none may have said", "defaults: [1]\nactivities:\n  A:\n    max_overrun: 200h\n", []string{"1:11: defaults: is a list"},
		},
		{
			"many things, all of them at once", "defaults:\n  scope: galaxy\n  ttl: 1h\nactivities:\n  A:\n    retention: 7d\n  A: {}\n",
			[]string{"2:10: defaults.scope", "3:3: defaults.ttl", "6:16: activities.A.retention", "7:3: activities.A: stands twice"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c, err := config.Parse("dedupe.yaml", []byte(tc.text))
			require.Nil(t, c)
			var all *config.Error
			require.ErrorAs(t, err, &all)
			require.Equal(t, "dedupe.yaml", all.File)
			require.Len(t, all.Problems, len(tc.want), "%v", err)
			for i, want := range tc.want {
				require.Contains(t, all.Problems[i].String(), want)
				require.Contains(t, err.Error(), "dedupe.yaml:"+all.Problems[i].String())
			}
		})
	}
}

func TestError(t *testing.T) {
	t.Parallel()
	_, err := config.Parse("dedupe.yaml", []byte("defaults:\n  scope: galaxy\n"))
	require.EqualError(t, err, `dedupe: dedupe.yaml:2:10: defaults.scope: "galaxy" is no value of it: want workflow_id, execution, run`)
	_, err = config.Parse("dedupe.yaml", []byte("defaults:\n  a: 1\n  b: 1\n"))
	require.ErrorContains(t, err, "dedupe: dedupe.yaml has 2 problems:\n  dedupe.yaml:2:3: defaults.a: no such field")
	_, err = config.Parse("", nil)
	require.ErrorContains(t, err, "the name is empty")
}

func TestLoad(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "dedupe.yaml")
	_, err := config.Load(path)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "dedupe: read the configuration: ")
	require.NoError(t, os.WriteFile(path, []byte("activities: {Refund: {}, '*': {}, Charge: {}}\n"), 0o600))
	c, err := config.Load(path)
	require.NoError(t, err)
	require.Equal(t, path, c.File())
	require.Equal(t, []string{"Charge", "Refund", "*"}, c.Activities())
}

// Whatever the text, the answer is a config or problems with places.
func FuzzParse(f *testing.F) {
	f.Add([]byte("defaults:\n  scope: run\nactivities:\n  A: {retention: 24h}\n  \"*\":\n    off: true\n"))
	f.Add([]byte("activities: &a\n  <<: *a\n"))
	f.Add([]byte("? [a]\n: !!str b\n--- |\n x\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := config.Parse("f", text)
		if err == nil {
			require.Len(t, c.Explain(), len(c.Activities()))
			return
		}
		var all *config.Error
		require.ErrorAs(t, err, &all)
		require.NotEmpty(t, all.Problems)
		for _, p := range all.Problems {
			require.Positive(t, p.Line)
			require.Positive(t, p.Column)
		}
	})
}
