package command_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/cmd/dedupe/internal/command"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// What is carried out is what was looked at.
func TestPlansAreForOneChange(t *testing.T) {
	t.Parallel()
	b := setup(t)
	reviewed, other := writeFile(t, `{"id":"reviewed"}`), writeFile(t, `{"id":"other"}`)
	for name, c := range map[string]struct {
		verb, good, bad []string
		want            string
	}{
		"a result": {
			[]string{"complete"}, []string{"--result-json", reviewed}, []string{"--result-json", other}, `a dry run of "complete" with another result or --keep`,
		},
		"no result":           {[]string{"complete"}, []string{"--result-json", reviewed}, []string{"--no-result"}, "with another result or --keep"},
		"an empty result":     {[]string{"complete"}, []string{"--no-result"}, []string{"--result-json", writeFile(t, `""`)}, "with another result or --keep"},
		"a message":           {[]string{"fail"}, []string{"--message", "a"}, []string{"--message", "b"}, "with another --message, --type or --keep"},
		"a type":              {[]string{"fail", "--message", "a"}, []string{"--type", "A"}, []string{"--type", "B"}, "with another --message, --type or --keep"},
		"a time":              {[]string{"release"}, []string{"--keep", "200h"}, nil, "with another --keep"},
		"a time of a result":  {[]string{"complete", "--no-result"}, nil, []string{"--keep", "1h"}, "with another result or --keep"},
		"a fresh key":         {[]string{"release"}, []string{"--fresh-key"}, nil, `is no dry run of "release"`},
		"force":               {[]string{"release"}, nil, []string{"--force"}, `is no dry run of "release --force"`},
		"a whole record":      {[]string{"purge"}, []string{"--delete"}, nil, `is no dry run of "purge"`},
		"a result, by format": {[]string{"complete"}, []string{"--result-json", reviewed}, []string{"--result-json", writeFile(t, `{"id": "reviewed"}`)}, "with another result"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &bundle{t: t, url: b.url, pool: b.pool, store: b.store}
			key := b.hold(reservation("plan "+name, "1")).Key
			do := func(code int, args ...string) outcome {
				return b.run(code, append(append([]string{"records"}, c.verb...), append(args, "--reason", "x")...)...)
			}
			plan := writeFile(t, do(command.ExitOK, append(c.good, key, "-o", "json")...).out)
			for _, yes := range []string{"--yes", "--yes=false"} {
				got := do(command.ExitUsage, append(c.bad, "--plan", plan, yes)...)
				require.Contains(t, got.err, c.want)
				require.Empty(t, got.out)
			}
			require.True(t, b.get(key).Held)
			do(command.ExitOK, append(c.good, "--plan", plan, "--yes")...)
		})
	}
}

func TestPlanWithoutADigestIsRefused(t *testing.T) {
	t.Parallel()
	plan := `{"verb": "release", "dry_run": true, "records": [{"key": "w/k", "mark": "b6cc4c38e6a2", "result": "would change"}]}`
	got := runWith(t, "postgres://127.0.0.1:1/nowhere", plan, "records", "release", "--plan", "-", "--reason", "x", "--yes")
	require.Equal(t, command.ExitUsage, got.code, got.err)
	require.Contains(t, got.err, "dedupe: --plan - has no digest of the change")
}

// What the dry run would not have changed is in the plan, and somebody counts on it.
func TestPlansTellWhatTheyLeaveOut(t *testing.T) {
	t.Parallel()
	b := setup(t)
	held, live, done := b.hold(reservation("left", "1")), b.insert(reservation("left", "2")), b.completed(reservation("left", "3"))
	do := func(code int, args ...string) reported {
		return decode[reported](t, b.run(code, append([]string{"records", "release", "--reason", "x", "-o", "json"}, args...)...).out)
	}
	save := func(code int, args ...string) string {
		return writeFile(t, b.run(code, append([]string{"records", "release", "--reason", "x", "-o", "json"}, args...)...).out)
	}
	const why = "the plan has it as lease_live: somebody is at work on it"

	named := save(command.ExitError, live.Key, done.Key)
	for range 2 { // a dry run of a plan is a plan
		got := do(command.ExitError, "--plan", named, "--yes")
		require.Equal(t, 0, got.Changed)
		require.Equal(t, 2, got.NotChanged)
		require.Equal(t, []string{"not changed", "not changed"}, []string{got.Records[0].Result, got.Records[1].Result})
		require.Equal(t, why, got.Records[0].Why)
		require.Equal(t, "the plan has it as refused: it is completed", got.Records[1].Why)
		named = save(command.ExitError, "--plan", named)
	}

	got := do(command.ExitError, "--plan", save(command.ExitError, "--workflow", "left"), "--yes")
	require.Equal(t, 1, got.Changed)
	var keys, results []string
	for _, r := range got.Records {
		keys, results = append(keys, r.Key), append(results, r.Result)
	}
	require.Equal(t, []string{held.Key, live.Key, done.Key}, keys)
	require.Equal(t, []string{"done", "not changed", "skipped"}, results)
	require.False(t, b.get(held.Key).Held)
	require.Equal(t, live.Token, b.get(live.Key).Token)
	require.Equal(t, store.StatusCompleted, b.get(done.Key).Status)

	nothing := save(command.ExitOK, "--workflow", "left", "--status", "completed")
	require.Equal(t, 1, do(command.ExitOK, "--plan", nothing, "--yes").NotChanged, "what a selection holds beside is no failure later either")
}
