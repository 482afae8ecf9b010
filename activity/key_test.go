package activity_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/wire"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

func info() sdkactivity.Info {
	return sdkactivity.Info{
		Namespace:         "prod",
		WorkflowExecution: workflow.Execution{ID: "order-42", RunID: "run-1"},
		ActivityType:      sdkactivity.Type{Name: "Charge"},
		ActivityID:        "5",
		ScheduledTime:     time.Unix(7, 11),
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	facts := func(change func(*wire.Facts)) *wire.Facts {
		chain := 0
		f := &wire.Facts{To: wire.ToActivity, WorkflowID: "order-42", RunID: "run-1", Lineage: "run-1",
			OriginalRunID: "orig-1", Chain: &chain, Number: 2}
		if change != nil {
			change(f)
		}
		return f
	}
	local := info()
	local.IsLocalActivity = true
	standalone := sdkactivity.Info{Namespace: "prod", ActivityType: sdkactivity.Type{Name: "Charge"}, ActivityID: "charge-42", ActivityRunID: "act-run-1"}

	for _, c := range []struct {
		name   string
		prefix string
		info   sdkactivity.Info
		facts  *wire.Facts
		scope  activity.Scope
		want   string
	}{
		{"a regular activity", "", info(), facts(nil), "", "w/prod/order-42/0/Charge/2"},
		{"with a prefix", "eu:1", info(), facts(nil), "", "eu%3A1:w/prod/order-42/0/Charge/2"},
		{"after three continuations", "", info(), facts(func(f *wire.Facts) { *f.Chain = 3 }), "", "w/prod/order-42/3/Charge/2"},
		{"in a cron run", "", info(), facts(func(f *wire.Facts) { f.Cron = true }), "", "w/prod/order-42/run:orig-1/Charge/2"},
		{"where the chain is not known", "", info(), facts(func(f *wire.Facts) { f.Chain = nil }), "", "w/prod/order-42/run:orig-1/Charge/2"},
		{"where not even the original run is known", "", info(), facts(func(f *wire.Facts) { f.Chain, f.OriginalRunID = nil, "" }), "", "w/prod/order-42/run:run-1/Charge/2"},
		{"in the scope of the execution", "", info(), facts(nil), activity.ScopeExecution, "e/prod/order-42/orig-1/Charge/2"},
		{"in the scope of the run", "", info(), facts(nil), activity.ScopeRun, "r/prod/order-42/run-1/Charge/2"},
		{"with a step key", "", info(), facts(func(f *wire.Facts) { f.Step, f.Number = "deposit", 1 }), "", "w/prod/order-42/0/Charge/step:1:deposit"},
		{"counted by arguments", "", info(), facts(func(f *wire.Facts) { f.Arguments, f.Number = "abcd", 1 }), "", "w/prod/order-42/0/Charge/args:1:abcd"},
		{"a local activity", "", local, facts(func(f *wire.Facts) { f.Arguments, f.Number = "abcd", 1 }), "", "wl/prod/order-42/0/Charge/args:1:abcd"},
		{"with a business key", "", info(), facts(func(f *wire.Facts) { f.BusinessKey = "invoice/7" }), "", "b/prod/Charge/invoice%2F7"},
		{"a local one with a business key", "", local, facts(func(f *wire.Facts) { f.BusinessKey = "invoice/7" }), "", "b/prod/Charge/invoice%2F7"},
		{"in a child without an ID of its own", "", info(), facts(func(f *wire.Facts) { f.Scope = []string{"parent", "0", "Child", "1"} }), "", "wc/prod/parent%2F0%2FChild%2F1/0/Charge/2"},
		{"without a header", "", info(), nil, "", "i/prod/order-42/run-1/5/7000000011/Charge"},
		{"without a workflow", "", standalone, nil, "", "s/prod/charge-42/act-run-1/Charge"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, activity.Identify(c.prefix, c.info, c.facts, activity.Policy{Scope: c.scope}))
		})
	}

	t.Run("overlong parts become digests and the key keeps its bound", func(t *testing.T) {
		t.Parallel()
		long := info()
		long.WorkflowExecution.ID = strings.Repeat("w", 1000)
		long.Namespace = strings.Repeat("n", 300)
		a := activity.Identify(strings.Repeat("/", 64), long, facts(func(f *wire.Facts) { f.Step = strings.Repeat("s", 4096) }), activity.Policy{})
		b := activity.Identify(strings.Repeat("/", 64), long, facts(func(f *wire.Facts) { f.Step = strings.Repeat("s", 4095) + "t" }), activity.Policy{})
		require.LessOrEqual(t, len(a), store.MaxKeyBytes)
		require.NotEqual(t, a, b)
	})

	t.Run("an effect's key is its activity's with a mark and the names that lead to it", func(t *testing.T) {
		t.Parallel()
		key := func(path ...string) string {
			return activity.EffectKey("eu", info(), facts(nil), activity.Policy{}, path...)
		}
		require.Equal(t, "eu:wd/prod/order-42/0/Charge/2/charge", key("charge"))
		require.Equal(t, "eu:wd/prod/order-42/0/Charge/2/outer%2Finner", key("outer", "inner"))
		require.Equal(t, "eu:wd/prod/order-42/0/Charge/2/outer%252Finner", key("outer/inner"))
		require.Equal(t, "wld/prod/order-42/0/Charge/2/charge", activity.EffectKey("", local, facts(nil), activity.Policy{}, "charge"))
		require.Equal(t, "sd/prod/charge-42/act-run-1/Charge/charge", activity.EffectKey("", standalone, nil, activity.Policy{}, "charge"))
		long := key(strings.Repeat("n", 4096))
		require.LessOrEqual(t, len(long), store.MaxKeyBytes)
		require.NotEqual(t, long, key(strings.Repeat("n", 4095)+"m"))
	})

	t.Run("the attempt number never enters a key", func(t *testing.T) {
		t.Parallel()
		second := info()
		second.Attempt = 2
		second.StartedTime = time.Unix(99, 0)
		for _, f := range []*wire.Facts{nil, facts(nil)} {
			require.Equal(t, activity.Identify("", info(), f, activity.Policy{}), activity.Identify("", second, f, activity.Policy{}))
		}
	})
}

// FuzzKeys looks for two tuples that give one key.
func FuzzKeys(f *testing.F) {
	f.Add("", "w", "a/b\x00c", "", "w", "a\x00b/c")
	f.Add("x", "w", "a", "", "x:w", "a")
	f.Add("", "w", "~"+strings.Repeat("a", 43), "", "w", strings.Repeat("z", 600))
	f.Add("", "w", "a%2Fb", "", "w", "a/b")
	f.Add("p", "b", "é", "p", "b", "\xc3\xa9")
	f.Fuzz(func(t *testing.T, prefixA, kindA, partsA, prefixB, kindB, partsB string) {
		kinds := []string{"w", "e", "r", "b", "i", "s", "wl", "wc", "wcl", "el", "ec", "rl", "il", "wd", "bd", "wcd"}
		if len(prefixA) > 64 || len(prefixB) > 64 || !slices.Contains(kinds, kindA) || !slices.Contains(kinds, kindB) {
			t.Skip()
		}
		a, b := strings.Split(partsA, "\x00"), strings.Split(partsB, "\x00")
		if len(a) > 6 || len(b) > 6 {
			t.Skip()
		}
		keyA, keyB := activity.JoinKey(prefixA, kindA, a...), activity.JoinKey(prefixB, kindB, b...)
		equal := prefixA == prefixB && kindA == kindB && slices.Equal(a, b)
		if (keyA == keyB) != equal {
			t.Fatalf("%q %q %q and %q %q %q give %q and %q", prefixA, kindA, a, prefixB, kindB, b, keyA, keyB)
		}
		for _, key := range []string{keyA, keyB} {
			if len(key) > store.MaxKeyBytes || key == "" {
				t.Fatalf("key of %d bytes", len(key))
			}
			for _, c := range []byte(key) {
				if c <= ' ' || c >= 0x7f {
					t.Fatalf("key holds byte %#x", c)
				}
			}
		}
	})
}

func TestFingerprints(t *testing.T) {
	t.Parallel()
	old := activity.Secret{ID: "2025", Key: []byte("0123456789abcdef")}
	current := activity.Secret{ID: "2026", Key: []byte("fedcba9876543210")}

	t.Run("the first secret signs, and all are acceptable, and none", func(t *testing.T) {
		t.Parallel()
		before := activity.Fingerprints([]activity.Secret{old}, "key", []byte("args"))
		during := activity.Fingerprints([]activity.Secret{current, old}, "key", []byte("args"))
		require.Len(t, during, 3)
		require.True(t, strings.HasPrefix(during[0], "v1:2026:"))
		require.Equal(t, before[0], during[1])
		require.Equal(t, activity.Fingerprints(nil, "key", []byte("args"))[0], during[2], "from before there were secrets")
	})

	t.Run("every part of the request matters", func(t *testing.T) {
		t.Parallel()
		seen := map[string]string{}
		for name, got := range map[string][]string{
			"plain":          activity.Fingerprints(nil, "key", []byte("args")),
			"other key":      activity.Fingerprints(nil, "kez", []byte("args")),
			"other args":     activity.Fingerprints(nil, "key", []byte("argz")),
			"moved border":   activity.Fingerprints(nil, "keya", []byte("rgs")),
			"signed":         activity.Fingerprints([]activity.Secret{old}, "key", []byte("args")),
			"signed anew":    activity.Fingerprints([]activity.Secret{current}, "key", []byte("args")),
			"no arguments":   activity.Fingerprints(nil, "key", nil),
			"NUL in request": activity.Fingerprints(nil, "key", []byte("\x00args")),
		} {
			other, twice := seen[got[0]]
			require.False(t, twice, fmt.Sprint(name, " equals ", other))
			seen[got[0]] = name
		}
	})
}
