package command_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"google.golang.org/protobuf/proto"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/cmd/dedupe/internal/command"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg/localpgtest"
	"github.com/seed5aa7bdf6/temporal-dedupe/migrations"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// bundle is a database with records, and who operates it.
type bundle struct {
	t     *testing.T
	url   string
	pool  *pgxpool.Pool
	store *pgstore.Store
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{t: t, url: localpgtest.RequireDatabase(t)}
	_, err := migrations.Up(t.Context(), b.url, migrations.Options{})
	require.NoError(t, err)
	b.pool, err = pgxpool.New(t.Context(), b.url)
	require.NoError(t, err)
	t.Cleanup(b.pool.Close)
	b.store, err = pgstore.New(t.Context(), b.pool, pgstore.Options{CallTimeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(b.store.Close)
	return b
}

// reservation is the n-th charge of a workflow under Refuse.
func reservation(workflow, n string) store.Reservation {
	return store.Reservation{
		Key: "w/default/" + workflow + "/0/ChargePayment/" + n, Hashes: []string{"v1:s1:aaaa"}, Token: store.NewToken(),
		Lease: time.Minute, Retention: time.Hour, Policy: store.Refuse,
		Origin: store.Origin{
			Lineage: "run-1", Invocation: "run-1/5/1", Namespace: "default", WorkflowID: workflow, RunID: "run-1",
			ActivityID: "5", ActivityType: "ChargePayment", ScheduledAt: time.Unix(1_700_000_000, 0), Attempt: 1, Owner: "4711@worker-7",
		},
	}
}

func (b *bundle) insert(r store.Reservation) store.Reservation {
	b.t.Helper()
	found, err := b.store.Reserve(b.t.Context(), []store.Reservation{r})
	require.NoError(b.t, err)
	require.True(b.t, found[0].Inserted)
	return r
}

// end inserts a record and settles it.
func (b *bundle) end(r store.Reservation, s store.Settlement) store.Reservation {
	b.t.Helper()
	s.Key, s.Token = b.insert(r).Key, r.Token
	got, err := b.store.Settle(b.t.Context(), []store.Settlement{s})
	require.NoError(b.t, err)
	require.Equal(b.t, store.SettledApplied, got[0])
	return r
}

func (b *bundle) hold(r store.Reservation) store.Reservation {
	b.t.Helper()
	return b.end(r, store.Settlement{Outcome: store.OutcomeHold, OwnLease: true})
}

func (b *bundle) completed(r store.Reservation, payloads ...*commonpb.Payload) store.Reservation {
	b.t.Helper()
	encoded, err := proto.Marshal(&commonpb.Payloads{Payloads: payloads})
	require.NoError(b.t, err)
	return b.end(r, store.Settlement{Outcome: store.OutcomeComplete, Result: encoded, ResultSize: int64(len(encoded))})
}

func (b *bundle) get(key string) store.Record {
	b.t.Helper()
	r, err := b.store.Get(b.t.Context(), key)
	require.NoError(b.t, err)
	return r
}

// run runs the command line, which must end with the code.
func (b *bundle) run(code int, args ...string) outcome {
	b.t.Helper()
	got := run(b.t, b.url, args...)
	require.Equal(b.t, code, got.code, "%s\n%s", got.err, got.out)
	return got
}

// decode reads a command's JSON.
func decode[T any](t *testing.T, text string) (v T) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &v), text)
	return v
}

type listed struct {
	Key, Mark, State string
	Held             bool
	LeaseLive        bool `json:"lease_live"`
	ProviderKey      string
}

type reported struct {
	Verb       string
	DryRun     bool `json:"dry_run"`
	Records    []struct{ Key, Mark, State, Result, Why string }
	Changed    int
	NotChanged int `json:"not_changed"`
	Unknown    int
	More       bool
}

func payload(encoding, data string) *commonpb.Payload {
	return &commonpb.Payload{Metadata: map[string][]byte{"encoding": []byte(encoding)}, Data: []byte(data)}
}

func TestRecordsUsage(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args string
		want string
	}{
		"no records are meant":       {"release --reason x", "wants keys, or flags that select records, or --plan"},
		"in two ways":                {"release k --held --reason x", "one of the three"},
		"no reason":                  {"release k", "--reason is required"},
		"a mark for many":            {"release --held --mark x --reason x", "--mark goes with one key"},
		"a status that is none":      {"list --status held", "--status must be in_progress, completed or failed"},
		"a limit that is none":       {"list --limit 0", "--limit must be 1 to 10000, not 0"},
		"after among held ones":      {"list --held --after k", "raise --limit"},
		"after among keys":           {"release w/k --after k --reason x", "--after goes with flags that select records"},
		"a prefix beside keys":       {"release w/k --key-prefix eu --reason x", "--key-prefix goes with flags that select records, not with keys"},
		"a limit beside a plan":      {"release --plan p --limit 1 --reason x", "--limit goes with flags that select records"},
		"a namespace beside keys":    {"purge w/k --namespace test --reason x", "--namespace goes with flags that select records"},
		"a value of a flag":          {"release w/default/a/0/A/1 --reason x --yes false", `"false" is no key: a flag that is on or off takes its value with =, as in --yes=false`},
		"a value of a flag, first":   {"release --fresh-key true w/a/b --reason x", `"true" is no key`},
		"a word that is no key":      {"purge --delete w/a/b order-42 --reason x --yes", `"order-42" is no key: keys look like w/default/order-42/0/ChargePayment/1`},
		"a path that is no key":      {"purge ./plan.json --reason x --yes", `"./plan.json" is no key`},
		"a mark that was cut":        {"release w/a/b --mark b6cc4c38 --reason x", `--mark "b6cc4c38" is no mark: want the 12 hex digits`},
		"a mark that is a word":      {"release w/a/b --mark b6cc4c38e6ag --reason x", "is no mark"},
		"half a search":              {"find --workflow w", "needs --workflow and --activity"},
		"no key to show":             {"show", "takes one key"},
		"two trails":                 {"audit a b", `was given "b" as well`},
		"complete without a result":  {"complete k --reason x", "wants --result-json or --no-result"},
		"complete with two":          {"complete k --reason x --no-result --result-json f", "wants --result-json or --no-result"},
		"a result that is not there": {"complete k --reason x --result-json /nowhere/f", "no such file"},
		"a plan that is not there":   {"release --plan /nowhere/f --reason x", "no such file"},
		"a failure without message":  {"fail k --reason x", "wants --message"},
		"a record kept for no time":  {"release k --reason x --keep 0s", "--keep must be 1s or more"},
		"no time to ask":             {"list --timeout 0s", "--timeout must be 1s or more"},
		"no database":                {"list", "no database: give --database-url"},
		"no URL":                     {"list --database-url postgres://me:s3cret@:x", "URL cannot be understood"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := run(t, "", append([]string{"records"}, strings.Fields(tc.args)...)...)
			require.Equal(t, command.ExitUsage, got.code, got.err)
			require.Contains(t, got.err, tc.want)
			require.NotContains(t, got.err, "s3cret")
			require.Empty(t, got.out)
		})
	}
}

func TestRecordsList(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Equal(t, "no record matches\n", b.run(command.ExitOK, "records", "list").err)
	require.Equal(t, "[]\n", b.run(command.ExitOK, "records", "list", "-o", "json").out)

	b.hold(reservation("order-42", "1"))
	b.insert(reservation("order-42", "2"))
	b.completed(reservation("order-43", "1"), payload("json/plain", `"s3cret"`))
	business := reservation("order-42", "1")
	business.Key = "b/default/ChargePayment/invoice-7"
	b.insert(business)
	evil := reservation("evil\x1b[31m", "1")
	evil.Key = "w/default/evil%1B[31m/0/ChargePayment/1"
	b.hold(evil)

	held := b.run(command.ExitOK, "records", "list", "--held")
	require.Regexp(t, `^MARK +STATE +SINCE +ATTEMPT +ACTIVITY +WORKFLOW +KEY\n`+
		`[0-9a-f]{12} +held +20\S+Z +1 +ChargePayment +order-42 +w/default/order-42/0/ChargePayment/1\n`+
		`[0-9a-f]{12} +held +20\S+Z +1 +ChargePayment +evil\\x1b\[31m +w/default/evil%1B\[31m/0/ChargePayment/1\n$`, held.out)

	keys := func(args ...string) (keys []string) {
		got := b.run(command.ExitOK, append([]string{"records", "list", "-o", "json"}, args...)...)
		require.NotContains(t, got.out, "s3cret")
		for _, l := range decode[[]listed](t, got.out) {
			keys = append(keys, l.Key)
		}
		return keys
	}
	require.Equal(t, []string{business.Key, "w/default/order-42/0/ChargePayment/1", "w/default/order-42/0/ChargePayment/2"},
		keys("--workflow", "order-42"), "by their keys, and by its column")
	for last, want := range map[string]int{business.Key: 2, "w/default/order-42/0/ChargePayment/1": 1} {
		require.Len(t, keys("--workflow", "order-42", "--after", last), want, "a page goes on where the one before has ended")
	}
	require.Contains(t, b.run(command.ExitOK, "records", "list", "--workflow", "order-42", "--limit", "1").err,
		"there may be more than these 1: raise --limit, or go on with --after 'b/default/ChargePayment/invoice-7'")
	require.Equal(t, []string{"w/default/order-42/0/ChargePayment/1"}, keys("--held", "--workflow", "order-42"))
	require.Equal(t, []string{"w/default/order-43/0/ChargePayment/1"}, keys("--status", "completed"))
	require.Empty(t, keys("--workflow", "order-42", "--namespace", "test"))
	require.Len(t, keys("--run", "run-1"), 5)
	require.Len(t, keys("--past-lease"), 2)
	require.Len(t, keys("--effect-possible"), 2)

	page := b.run(command.ExitOK, "records", "list", "-o", "json", "--limit", "2")
	require.Contains(t, page.err, "there may be more than these 2")
	first := decode[[]listed](t, page.out)
	require.Len(t, keys("--after", first[1].Key), 3)

	found := b.run(command.ExitOK, "records", "find", "--workflow", "order-42", "--activity", "ChargePayment", "--namespace", "default")
	require.Equal(t, 4, strings.Count(found.out, "\n"))
	require.Contains(t, found.out, business.Key)
	none := b.run(command.ExitOK, "records", "find", "--workflow", "order-42", "--activity", "Refund")
	require.Equal(t, "no record matches in namespace \"default\", without a key prefix\n", none.err)
	prefixed := b.run(command.ExitOK, "records", "find", "--workflow", "order-42", "--activity", "ChargePayment", "--key-prefix", "eu")
	require.Empty(t, prefixed.out)
	for flags, where := range map[string]string{
		"--workflow order-42 --key-prefix eu --namespace prod": ` in namespace "prod", with key prefix "eu"`,
		"--workflow order-44 --held":                           ` in namespace "default"`,
		"--namespace prod":                                     ` in namespace "prod"`,
		"--key-prefix eu":                                      `, with key prefix "eu"`,
	} {
		require.Equal(t, "no record matches"+where+"\n", b.run(command.ExitOK, append([]string{"records", "list"}, strings.Fields(flags)...)...).err)
	}
	for _, shown := range []string{"list", "purge --reason x"} {
		got := b.run(command.ExitOK, append([]string{"records"}, strings.Fields(shown+" --workflow order-44")...)...)
		require.Contains(t, got.out+got.err, `no record matches in namespace "default", without a key prefix`)
	}
}

func TestRecordsShow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	show := func(r store.Reservation, args ...string) string {
		return b.run(command.ExitOK, append([]string{"records", "show", r.Key}, args...)...).out
	}

	t.Run("tells what an operator needs at three in the morning", func(t *testing.T) {
		r := b.hold(reservation("order-42", "1"))
		out := show(r, "--ui-address", "https://temporal.example/")
		for _, want := range []string{
			`key +w/default/order-42/0/ChargePayment/1\n`,
			`short key +` + activity.ShortKey(r.Key),
			`state +held\n`,
			`held since +20\S+: nobody knows whether it had its effect`,
			`effect +possible: the body was started`,
			`next attempt +is refused: dedupe.OutcomeUnknown \(the policy is refuse\)`,
			`lease +given up`,
			`last owner +4711@worker-7`,
			`attempt +1, scheduled 2023-11-14T22:13:20Z\n`, `executions +1 have owned it`,
			`activity +ChargePayment, ID 5`,
			`workflow +order-42, in namespace default`,
			`run +run-1`,
			`ui +https://temporal.example/namespaces/default/workflows/order-42/run-1/history`,
			`kept until +20\S+, and beyond that for as long as nobody knows`,
			`provider key +` + string(activity.RecordProviderKey(r.Key, 0)),
			`fresh key +` + string(activity.RecordProviderKey(r.Key, 1)),
			`result +none`,
			`no operator has changed anything`,
		} {
			require.Regexp(t, want, out)
		}
		require.NotContains(t, show(r), "history", "no UI is known")
	})

	t.Run("tells whose a record is and for how long", func(t *testing.T) {
		out := show(b.insert(reservation("order-42", "2")))
		require.Regexp(t, `state +running\n`, out)
		require.Regexp(t, `lease +live, \S+ left of 1m0s`, out)
		require.Regexp(t, `next attempt +waits for the owner`, out)
	})

	t.Run("does not tell what only a later release can", func(t *testing.T) {
		r := b.hold(reservation("later", "1"))
		psql(t, b.url, `UPDATE idempotency_records SET record_version = 99 WHERE key = '`+r.Key+`'`)
		out := show(r)
		require.Regexp(t, `next attempt +is refused by workers of this release, and tried again: dedupe.RecordVersion \(the record has version 99,`, out)
		require.NotContains(t, out, "other scheduling")
	})

	t.Run("tells that another scheduling gets something else", func(t *testing.T) {
		r := b.end(reservation("order-42", "3"), store.Settlement{Outcome: store.OutcomeFail, Failure: []byte{}, NonRetryable: true})
		out := show(r)
		require.Regexp(t, `next attempt +gets the recorded failure`, out)
		require.Regexp(t, `other scheduling +runs the body`, out)
	})

	t.Run("prints a result only when it is asked to, and never ciphertext", func(t *testing.T) {
		r := b.completed(reservation("order-43", "1"),
			payload("json/plain", `{"receipt":"s3cret-7"}`),
			&commonpb.Payload{Metadata: map[string][]byte{"encoding": []byte("json/protobuf"), "messageType": []byte("shop.Receipt")}, Data: []byte(`{"id":"s3cret-8"}`)},
			payload("binary/encrypted", "c1phertext"), payload("binary/plain", "s3cret-9"), payload("binary/null", ""),
			payload("json/plain", "not json"), payload("", "unknown"))
		require.NotContains(t, show(r), "s3cret")
		require.Regexp(t, `result +\d+ bytes, shown by --result`, show(r))
		out := show(r, "--result")
		require.Contains(t, out, "result, payload 1 of 7:\njson/plain, 22 bytes:\n{\n  \"receipt\": \"s3cret-7\"\n}\n")
		require.Contains(t, out, "json/protobuf shop.Receipt, 17 bytes:\n{\n  \"id\": \"s3cret-8\"\n}\n")
		require.Contains(t, out, "binary/encrypted, 10 bytes: encoded by the client, encrypted perhaps, not shown")
		require.Contains(t, out, "binary/plain, 8 bytes: bytes, not shown")
		require.Contains(t, out, "binary/null, 0 bytes: nil")
		require.Contains(t, out, "json/plain, 8 bytes: no JSON, not shown")
		require.NotContains(t, out, "c1phertext")
		require.NotContains(t, out, "s3cret-9")

		machine := b.run(command.ExitOK, "records", "show", r.Key, "--result", "-o", "json").out
		shown := decode[struct {
			Result []struct {
				Encoding string
				JSON     any
			}
		}](t, machine)
		require.Equal(t, map[string]any{"receipt": "s3cret-7"}, shown.Result[0].JSON)
		require.Nil(t, shown.Result[2].JSON)
		require.NotContains(t, machine, "c1phertext")
		require.NotContains(t, b.run(command.ExitOK, "records", "show", r.Key, "-o", "json").out, "s3cret")
	})

	t.Run("prints a failure likewise", func(t *testing.T) {
		encoded, err := proto.Marshal(&failurepb.Failure{
			Message: "card dec\x1blined", FailureInfo: &failurepb.Failure_ApplicationFailureInfo{
				ApplicationFailureInfo: &failurepb.ApplicationFailureInfo{Type: "CardError", NonRetryable: true}},
			Cause: &failurepb.Failure{Message: "Encoded failure", EncodedAttributes: payload("binary/encrypted", "c1phertext")},
		})
		require.NoError(t, err)
		r := b.end(reservation("order-44", "1"), store.Settlement{Outcome: store.OutcomeFail, Failure: encoded, EffectPossible: true})
		require.NotContains(t, show(r), "CardError")
		out := show(r, "--result")
		require.Contains(t, out, "failure:\nCardError: card dec\\x1blined (not retryable)\n")
		require.Contains(t, out, "caused by:\nEncoded failure\nencoded: binary/encrypted, 10 bytes: encoded by the client")
		require.NotContains(t, out, "c1phertext")
	})

	t.Run("of a record that is gone shows what operators did to it", func(t *testing.T) {
		r := b.completed(reservation("order-45", "1"))
		b.run(command.ExitOK, "records", "purge", "--delete", r.Key, "--reason", "tidy", "--actor", "ann@ops", "--yes")
		got := b.run(command.ExitError, "records", "show", r.Key)
		require.Regexp(t, `the record is gone.*\n.*\n20\S+ +delete +ann@ops +tidy\n`, got.err)
		require.Contains(t, got.err, "dedupe: record not found")
		require.Contains(t, b.run(command.ExitError, "records", "show", "absent").err, "dedupe: record not found")
	})
}

func TestRecordsBehindATransactionPooler(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.hold(reservation("pooled", "1"))
	b.url = localpgtest.RequirePgBouncer(t, b.url, "pool_mode = transaction\n")
	require.Contains(t, b.run(command.ExitOK, "records", "list", "--held").out, r.Key)
	b.run(command.ExitOK, "records", "release", r.Key, "--reason", "x", "--yes")
	require.Contains(t, b.run(command.ExitOK, "stats").out, "past their lease")
	require.False(t, b.get(r.Key).Held)
}

func TestRecordsUnderSettingsForOtherPrograms(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.hold(reservation("settings", "1"))
	_, err := b.pool.Exec(t.Context(), `DO $$ BEGIN
		EXECUTE format('ALTER DATABASE %I SET DateStyle = German', current_database());
		EXECUTE format('ALTER DATABASE %I SET array_nulls = off', current_database());
	END $$`)
	require.NoError(t, err)
	require.Contains(t, b.run(command.ExitOK, "records", "list", "--held").out, r.Key)
	b.run(command.ExitOK, "records", "release", r.Key, "--reason", "x", "--yes")
	require.False(t, b.get(r.Key).Held)
}

func TestRecordsInASchemaOfTheirOwn(t *testing.T) {
	t.Parallel()
	database := localpgtest.RequireDatabase(t)
	require.Equal(t, command.ExitOK, run(t, database, "migrate", "up", "--schema", "Ours").code)
	require.Equal(t, command.ExitOK, run(t, database, "records", "list", "--schema", "Ours").code)
	require.Equal(t, command.ExitOK, run(t, database, "stats", "--schema", "Ours").code)
	got := run(t, database, "records", "list")
	require.Equal(t, command.ExitError, got.code)
	require.Contains(t, got.err, "dedupe migrate up")
}
