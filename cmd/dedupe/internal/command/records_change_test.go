package command_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"

	"github.com/seed5aa7bdf6/temporal-dedupe/cmd/dedupe/internal/command"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

func TestRecordsChange(t *testing.T) {
	t.Parallel()
	b := setup(t)
	by := []string{"--reason", "provider says no", "--actor", "ann@ops"}
	do := func(code int, args ...string) outcome {
		return b.run(code, append(append([]string{"records"}, args...), by...)...)
	}

	t.Run("without yes changes nothing, and says so", func(t *testing.T) {
		r := b.hold(reservation("dry", "1"))
		for _, args := range [][]string{
			{"release", r.Key}, {"release", "--fresh-key", r.Key}, {"complete", "--no-result", r.Key},
			{"fail", "--message", "no", r.Key}, {"purge", "--delete", r.Key}, {"release", "--held"},
		} {
			got := do(command.ExitOK, args...)
			require.Regexp(t, `[0-9a-f]{12} +held +would change +w/default/dry`, got.out)
			require.Contains(t, got.out, "1 would be changed, 0 not. Nothing was changed: add --yes to go ahead")
		}
		require.True(t, b.get(r.Key).Held)
		require.Equal(t, "no operator has changed anything\n", b.run(command.ExitOK, "records", "audit").out)
		do(command.ExitOK, "purge", "--delete", r.Key, "--yes")
	})

	t.Run("a dry run promises nothing about a record of a later release", func(t *testing.T) {
		r := b.hold(reservation("later", "1"))
		psql(t, b.url, `UPDATE idempotency_records SET record_version = 99 WHERE key = '`+r.Key+`'`)
		for _, yes := range []string{"--yes=false", "--yes"} {
			got := do(command.ExitError, "release", r.Key, yes)
			require.Contains(t, got.out, "newer_version: a later release wrote it: upgrade this program")
		}
		require.True(t, b.get(r.Key).Held)
		psql(t, b.url, `DELETE FROM idempotency_records WHERE key = '`+r.Key+`'`)
	})

	t.Run("release says which key the provider sees", func(t *testing.T) {
		r := b.hold(reservation("release", "1"))
		got := do(command.ExitOK, "release", r.Key, "--yes")
		require.Contains(t, got.out, "sends the provider the same key")
		require.Contains(t, got.out, "release: 1 changed, 0 not")
		record := b.get(r.Key)
		require.False(t, record.Held)
		require.False(t, record.EffectPossible)
		require.Zero(t, record.Generation)

		got = do(command.ExitOK, "release", r.Key, "--fresh-key", "--yes")
		require.Contains(t, got.out, "sends the provider a new key")
		require.Equal(t, 1, b.get(r.Key).Generation)
		require.Regexp(t, `^AT +VERB +ACTOR +REASON +KEY\n`+
			`20\S+ +release --fresh-key +ann@ops +provider says no +w/default/release/0/ChargePayment/1\n`+
			`20\S+ +release +ann@ops +provider says no +w/default/release`, b.run(command.ExitOK, "records", "audit", r.Key).out)
	})

	t.Run("complete takes JSON from a file or from standard input", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "result.json")
		require.NoError(t, os.WriteFile(file, []byte("{\"receipt\": 7}\n"), 0o600))
		r := b.hold(reservation("complete", "1"))
		do(command.ExitOK, "complete", r.Key, "--result-json", file, "--yes")
		var stored commonpb.Payloads
		require.NoError(t, proto.Unmarshal(b.get(r.Key).Result, &stored))
		var value map[string]int
		require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(&stored, &value))
		require.Equal(t, map[string]int{"receipt": 7}, value)

		got := do(command.ExitError, "complete", r.Key, "--no-result", "--yes")
		require.Contains(t, got.out, "refused: it is completed already, and its result may have been used")
		require.Contains(t, got.err, "dedupe: 1 of 1 records: not changed, see above")

		none := b.hold(reservation("complete", "2"))
		do(command.ExitOK, "complete", none.Key, "--no-result", "--yes")
		require.Nil(t, b.get(none.Key).Result)

		require.NoError(t, os.WriteFile(file, []byte("{} {}"), 0o600))
		require.Contains(t, do(command.ExitUsage, "complete", none.Key, "--result-json", file).err, "not one JSON value")
		for text, want := range map[string]string{
			"\"a\xff\"":                       "a string has invalid UTF-8",
			"null\n":                          "null is no result; say --no-result",
			`{"a": 1, "b": {"c": 1, "c": 1}}`: "readers would not agree on it: an object has two members of one name\n",
		} {
			got := do(command.ExitUsage, "complete", none.Key, "--result-json", writeFile(t, text))
			require.Contains(t, got.err, want)
		}
		require.Contains(t, do(command.ExitUsage, "complete", "--held", "--result-json", writeFile(t, `{}`)).err,
			"name those that have this result by their keys")
		do(command.ExitError, "complete", none.Key, "--result-json", writeFile(t, `[1e400, -0.0, "\ufffd\u0000", {"":null}]`))
		require.NoError(t, os.WriteFile(file, []byte(`"`+strings.Repeat("x", 2<<20)+`"`), 0o600))
		require.Contains(t, do(command.ExitUsage, "complete", none.Key, "--result-json", file).err, "Temporal takes 2097152")
	})

	t.Run("fail stores a final failure", func(t *testing.T) {
		r := b.hold(reservation("fail", "1"))
		const warning = "warning: 1 of 1 records: held"
		dry := do(command.ExitOK, "fail", r.Key, "--message", "refused by hand", "--output", "json")
		require.Contains(t, dry.err, warning, "the activity has had its failure")
		require.NotContains(t, dry.out, warning, "a plan is JSON")
		require.Contains(t, do(command.ExitOK, "fail", r.Key, "--message", "refused by hand", "--type", "Manual", "--yes").err, warning)
		gone := b.end(reservation("fail", "2"), store.Settlement{Outcome: store.OutcomeRelease, EffectPossible: true})
		require.Empty(t, do(command.ExitOK, "fail", gone.Key, "--message", "no", "--yes").err, "its next attempt gets it")
		record := b.get(r.Key)
		require.True(t, record.NonRetryable)
		require.Contains(t, b.run(command.ExitOK, "records", "show", r.Key, "--result").out, "Manual: refused by hand (not retryable)")
	})

	t.Run("purge leaves a tombstone, and delete nothing", func(t *testing.T) {
		r := b.completed(reservation("purge", "1"), payload("json/plain", `"s3cret"`))
		got := do(command.ExitOK, "purge", r.Key, "--yes")
		require.Contains(t, got.out, "is refused, and is not run")
		require.Equal(t, store.TombstonePurged, b.get(r.Key).Tombstone)
		require.Regexp(t, `state +completed, purged`, b.run(command.ExitOK, "records", "show", r.Key).out)
		require.Contains(t, do(command.ExitError, "purge", r.Key, "--yes").out, "its result is gone already")
		got = do(command.ExitOK, "purge", "--delete", r.Key, "--yes")
		require.Contains(t, got.out, "RUNS AGAIN")
		_, err := b.store.Get(t.Context(), r.Key)
		require.ErrorIs(t, err, store.ErrNotFound)
	})

	t.Run("a live lease is refused, and taken with force", func(t *testing.T) {
		r := b.insert(reservation("live", "1"))
		got := do(command.ExitError, "release", r.Key, "--yes")
		require.Contains(t, got.out, "lease_live: somebody is at work on it")
		require.Contains(t, do(command.ExitError, "release", r.Key).out, "lease_live: somebody is at work on it", "in a dry run too")
		require.Equal(t, r.Token, b.get(r.Key).Token)
		require.Contains(t, do(command.ExitError, "purge", "--delete", r.Key, "--yes").out, "lease_live")
		got = do(command.ExitOK, "release", r.Key, "--force", "--yes")
		require.Contains(t, got.out, "an execution that is at work loses the record")
		require.NotEqual(t, r.Token, b.get(r.Key).Token)
		require.Contains(t, b.run(command.ExitOK, "records", "audit", r.Key).out, "release --force")
	})

	t.Run("a mark that is old is refused", func(t *testing.T) {
		r := b.hold(reservation("mark", "1"))
		mark := decode[listed](t, b.run(command.ExitOK, "records", "show", r.Key, "-o", "json").out).Mark
		require.Contains(t, do(command.ExitOK, "release", r.Key, "--mark", mark).out, "would change")
		require.Contains(t, do(command.ExitOK, "release", r.Key, "--mark", strings.ToUpper(mark)).out, "would change")
		do(command.ExitOK, "release", r.Key, "--mark", mark, "--yes")
		require.Contains(t, do(command.ExitError, "release", r.Key, "--mark", mark, "--yes").out, "changed: it is no longer as it was looked at")
	})

	t.Run("the actor is the user and the host, if no other is named", func(t *testing.T) {
		r := b.hold(reservation("actor", "1"))
		b.run(command.ExitOK, "records", "release", r.Key, "--reason", "x", "--yes")
		host, err := os.Hostname()
		require.NoError(t, err)
		require.Regexp(t, `20\S+ +release +\S+@`+host+` +x`, b.run(command.ExitOK, "records", "audit", r.Key).out)
	})

	t.Run("an absent record is reported, and the others are changed", func(t *testing.T) {
		r := b.hold(reservation("present", "1"))
		got := do(command.ExitError, "release", "w/absent", r.Key, "--yes")
		require.Regexp(t, `- +- +missing: there is no such record +w/absent`, got.out)
		require.Regexp(t, `held +done +w/default/present`, got.out)
		require.Contains(t, got.err, "1 of 2 records: not changed")
	})
}

func TestRecordsChangeInBulk(t *testing.T) {
	t.Parallel()
	b := setup(t)
	by := []string{"--reason", "incident 7", "-o", "json"}
	do := func(code int, args ...string) reported {
		got := b.run(code, append(append([]string{"records"}, args...), by...)...)
		return decode[reported](t, got.out)
	}
	var held []store.Reservation
	for _, n := range []string{"1", "2", "3"} {
		held = append(held, b.hold(reservation("bulk", n)))
	}
	b.completed(reservation("bulk", "4"), payload("json/plain", `1`))
	b.hold(reservation("other", "1"))

	plan := b.run(command.ExitOK, append([]string{"records", "release", "--held", "--workflow", "bulk"}, by...)...).out
	require.Equal(t, 3, decode[reported](t, plan).Changed)
	file := filepath.Join(t.TempDir(), "plan.json")
	require.NoError(t, os.WriteFile(file, []byte(plan), 0o600))
	dry := do(command.ExitOK, "release", "--plan", file)
	require.True(t, dry.DryRun)
	require.Len(t, dry.Records, 3)

	// Between the plan and the change somebody resolves one of them, and the
	// owner of another one comes back.
	b.run(command.ExitOK, "records", "fail", held[0].Key, "--message", "m", "--reason", "x", "--yes")
	_, err := b.store.Settle(t.Context(), []store.Settlement{{Key: held[1].Key, Token: held[1].Token, Outcome: store.OutcomeComplete, Result: []byte{}}})
	require.NoError(t, err)

	done := do(command.ExitError, "release", "--plan", file, "--yes")
	require.Equal(t, 1, done.Changed)
	require.Equal(t, []string{"changed", "changed", "done"}, []string{done.Records[0].Result, done.Records[1].Result, done.Records[2].Result})
	require.True(t, b.get(held[0].Key).NonRetryable)
	require.Equal(t, store.StatusCompleted, b.get(held[1].Key).Status)
	require.False(t, b.get(held[2].Key).Held)
	require.True(t, b.get("w/default/other/0/ChargePayment/1").Held, "was not in the plan")

	require.Contains(t, b.run(command.ExitUsage, "records", "fail", "--message", "m", "--plan", file, "--reason", "x").err, "is no dry run of \"fail\"")

	t.Run("what a selection holds beside is skipped, and no failure", func(t *testing.T) {
		got := do(command.ExitOK, "release", "--workflow", "bulk", "--yes")
		require.Equal(t, 2, got.Changed)
		require.Equal(t, 2, got.NotChanged)
		for _, r := range got.Records {
			if r.State == "completed" {
				require.Equal(t, "skipped", r.Result)
				require.Equal(t, "it is completed", r.Why)
			}
		}
	})

	t.Run("purges a workflow's results", func(t *testing.T) {
		got := do(command.ExitOK, "purge", "--workflow", "bulk", "--status", "completed", "--yes")
		require.Equal(t, 2, got.Changed)
		require.Equal(t, store.TombstonePurged, b.get("w/default/bulk/0/ChargePayment/4").Tombstone)
	})

	t.Run("that the limit cuts off is said to be", func(t *testing.T) {
		got := b.run(command.ExitError, "records", "release", "--workflow", "bulk", "--status", "failed", "--limit", "1", "--reason", "x")
		require.Contains(t, got.err, "there may be more records than these 1")
		got = b.run(command.ExitError, "records", "release", "--workflow", "bulk", "--status", "failed", "--limit", "1", "--reason", "x", "-o", "json")
		require.True(t, decode[reported](t, got.out).More)
	})

	t.Run("nothing at all is no failure", func(t *testing.T) {
		require.Contains(t, b.run(command.ExitOK, "records", "release", "--workflow", "nobody", "--reason", "x").out, "no record matches")
	})

	t.Run("by the hundreds, in several statements", func(t *testing.T) {
		for i := range 230 {
			r := reservation("many", "1")
			r.Key += strings.Repeat("x", i)
			b.hold(r)
		}
		got := do(command.ExitOK, "release", "--held", "--workflow", "many", "--yes")
		require.Equal(t, 230, got.Changed)
		require.Len(t, decode[[]any](t, b.run(command.ExitOK, "records", "audit", "--limit", "1000", "-o", "json").out), 230+2+2+1+1)
	})

	t.Run("the trail says that there is more of it", func(t *testing.T) {
		all := b.run(command.ExitOK, "records", "audit", "--limit", "236")
		require.Empty(t, all.err)
		for _, format := range []string{"json", "table"} {
			require.Equal(t, "there are older changes than these 235: raise --limit\n", b.run(command.ExitOK, "records", "audit", "--limit", "235", "-o", format).err)
		}
		r := b.hold(reservation("often", "1"))
		for range 20 {
			do(command.ExitOK, "release", r.Key, "--yes")
		}
		require.Contains(t, b.run(command.ExitOK, "records", "show", r.Key, "-o", "json").out, `"more_audit": false`)
		do(command.ExitOK, "release", r.Key, "--yes")
		got := b.run(command.ExitOK, "records", "show", r.Key, "-o", "json")
		require.Contains(t, got.out, `"more_audit": true`)
		require.Equal(t, "there are older changes than these 20: see `dedupe records audit`\n", got.err)
	})
}

// writeFile writes a file that a flag can name.
func writeFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestWhatWasDoneAndCannotBePrinted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.hold(reservation("unprinted", "1")).Key
	for want, args := range map[string][]string{
		"1 records were changed and 0 not, which could not be printed": {"records", "release", key, "--reason", "x", "--yes"},
		"0 records were removed, which could not be printed":           {"evict"},
		"this was done, and could not be printed: schema":              {"migrate", "up"},
	} {
		var errs bytes.Buffer
		code := command.Run(t.Context(), append(args, "--database-url", b.url), command.Env{
			Out: full{}, Err: &errs, Getenv: func(string) string { return "" },
		})
		require.Equal(t, command.ExitError, code)
		require.Contains(t, errs.String(), want)
		require.Contains(t, errs.String(), "no space left on device")
	}
	require.False(t, b.get(key).Held)
}

func TestReasonsAreNamedAsFlags(t *testing.T) {
	t.Parallel()
	for flag, value := range map[string]string{"--reason": "  ", "--actor": " ", "--actor ": strings.Repeat("x", 1001)} {
		args := []string{"records", "release", "w/k", "--reason", "x", strings.TrimSpace(flag), value}
		got := run(t, "postgres://127.0.0.1:1/x", args...)
		require.Equal(t, command.ExitUsage, got.code)
		require.True(t, strings.HasPrefix(got.err, "dedupe: "+strings.TrimSpace(flag)+" "), got.err)
	}
}

// Only an answer that was lost leaves a record of which nobody knows.
func TestChangesThatTheDatabaseRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var keys []string
	for _, n := range []string{"1", "2", "3"} {
		keys = append(keys, b.hold(reservation("refused", n)).Key)
	}
	release := append([]string{"records", "release", "--reason", "x", "--yes", "-o", "json"}, keys...)

	t.Run("by rights", func(t *testing.T) {
		link := b.role("SELECT, INSERT, UPDATE, DELETE ON idempotency_records", "SELECT ON idempotency_schema", "SELECT ON idempotency_audit", "SELECT, INSERT ON idempotency_server")
		got := run(t, link, release...)
		require.Equal(t, command.ExitError, got.code)
		const why = "the database user lacks a privilege on the table idempotency_audit (SQLSTATE 42501)"
		require.Contains(t, got.err, why)
		for _, r := range decode[reported](t, got.out).Records {
			require.Equal(t, "not changed", r.Result)
			require.Contains(t, r.Why, why)
			require.True(t, b.get(r.Key).Held)
		}
	})

	t.Run("one of several", func(t *testing.T) {
		_, err := b.pool.Exec(t.Context(), `CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
			CREATE TRIGGER no BEFORE UPDATE ON idempotency_records FOR EACH ROW WHEN (old.key LIKE '%/2') EXECUTE FUNCTION no()`)
		require.NoError(t, err)
		got := decode[reported](t, b.run(command.ExitError, release...).out)
		require.Equal(t, []string{"done", "not changed", "done"}, []string{got.Records[0].Result, got.Records[1].Result, got.Records[2].Result})
		require.Contains(t, got.Records[1].Why, "the database refused the statement (SQLSTATE P0001)")
		require.False(t, b.get(keys[0]).Held)
		require.True(t, b.get(keys[1]).Held)
	})
}
