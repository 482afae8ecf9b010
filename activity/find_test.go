package activity_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	sdkactivity "go.temporal.io/sdk/activity"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/wire"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

func within(key string, ranges []store.KeyRange) bool {
	for _, r := range ranges {
		if r.From <= key && key < r.Before {
			return true
		}
	}
	return false
}

// names draws the parts of keys: short, long, overlong, and such as need escaping.
func names(label string) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		part := rapid.SampledFrom([]string{"a", "order-42", "order-4", "a/b", "%2F", "~", "é\x00", ":", "run:1", "w"}).Draw(t, label)
		return strings.Repeat(part, rapid.SampledFrom([]int{1, 1, 2, 5, 43, 44, 45, 100, 200, 470, 600}).Draw(t, label+" repeated"))
	})
}

// Every call of a workflow, in every scope and of every kind, is found, and no
// other workflow's call is found in the ranges that name it.
func TestFindKeysFindsEveryCallOfAWorkflow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		prefix := rapid.SampledFrom([]string{"", "eu", "eu:1", strings.Repeat("/", 64)}).Draw(t, "prefix")
		i := info()
		i.Namespace, i.WorkflowExecution.ID = names("namespace").Draw(t, "ns"), names("workflow").Draw(t, "id")
		i.ActivityType = sdkactivity.Type{Name: names("type").Draw(t, "typ")}
		i.IsLocalActivity = rapid.Bool().Draw(t, "local")
		chain := 0
		facts := &wire.Facts{
			To: wire.ToActivity, WorkflowID: i.WorkflowExecution.ID, RunID: "run-1", Lineage: "run-1",
			OriginalRunID: "orig-1", Chain: &chain, Number: 2,
		}
		named := true
		switch rapid.SampledFrom([]string{"number", "step", "business", "child", "none"}).Draw(t, "facts") {
		case "step":
			facts.Step = names("step").Draw(t, "stepkey")
		case "business":
			facts.BusinessKey, named = names("business").Draw(t, "key"), false
		case "child":
			facts.Scope = []string{names("parent").Draw(t, "scope"), "0", "Child", "1"}
		case "none":
			facts = nil
		}
		scope := rapid.SampledFrom([]activity.Scope{activity.ScopeWorkflowID, activity.ScopeExecution, activity.ScopeRun}).Draw(t, "scope of the policy")
		if facts != nil && len(facts.Scope) > 0 && scope != activity.ScopeRun {
			named = false
		}
		key := activity.Identify(prefix, i, facts, activity.Policy{Scope: scope})
		if rapid.Bool().Draw(t, "an effect") {
			of := key
			path := rapid.SliceOfN(names("effect"), 1, 3).Draw(t, "path")
			key = activity.EffectKey(prefix, i, facts, activity.Policy{Scope: scope}, path...)
			if !within(key, activity.EffectKeys(of)) || within(of, activity.EffectKeys(of)) {
				t.Fatalf("effect %q of %q", key, of)
			}
			if !activity.IsEffectKey(key) || activity.EffectKeys(key) != nil {
				t.Fatalf("effect %q is none", key)
			}
		} else if activity.IsEffectKey(key) {
			t.Fatalf("key %q is no effect's", key)
		}

		found := activity.FindKeys(prefix, i.Namespace, i.WorkflowExecution.ID, i.ActivityType.Name)
		if within(key, found.Workflow) != named || within(key, found.Others) == named {
			t.Fatalf("key %q: named %t", key, named)
		}
		if !within(key, []store.KeyRange{activity.PrefixedKeys(prefix)}) || within(key, []store.KeyRange{activity.PrefixedKeys("e")}) {
			t.Fatalf("key %q is not in the range of its prefix alone", key)
		}
		all := activity.FindKeys(prefix, i.Namespace, i.WorkflowExecution.ID, "")
		if within(key, all.Workflow) != named || within(key, all.Others) == named {
			t.Fatalf("key %q without a type", key)
		}
		other := activity.FindKeys(prefix, i.Namespace, names("another").Draw(t, "other"), i.ActivityType.Name)
		if named && fmt.Sprint(other.Workflow) != fmt.Sprint(found.Workflow) && within(key, other.Workflow) {
			t.Fatalf("key %q is found for another workflow", key)
		}
	})
}

func TestFindKeysReadsNoMoreThanItMust(t *testing.T) {
	t.Parallel()
	found := activity.FindKeys("eu", "prod", "order-42", "Charge")
	require.Len(t, found.Workflow, 16)
	require.Equal(t, store.KeysWithPrefix("eu:w/prod/order-42/"), found.Workflow[0])
	require.Contains(t, found.Others, store.KeysWithPrefix("eu:b/prod/Charge/"))
	require.Contains(t, found.Others, store.KeysWithPrefix("eu:bd/prod/Charge/"))
	require.Contains(t, activity.FindKeys("", "prod", "x", "").Others, store.KeysWithPrefix("b/prod/"))
	require.Len(t, activity.FindKeys("", "prod", strings.Repeat("w", 600), "Charge").Workflow, 16, "an overlong ID stands as its digest only")
	require.Len(t, activity.FindKeys("", "prod", strings.Repeat("w", 100), "Charge").Workflow, 32, "a long one as either")
}

func TestEffectKeys(t *testing.T) {
	t.Parallel()
	require.Equal(t, []store.KeyRange{store.KeysWithPrefix("eu:wcld/prod/a%2Fb/0/Charge/1/")}, activity.EffectKeys("eu:wcl/prod/a%2Fb/0/Charge/1"))
	require.Equal(t, []store.KeyRange{store.KeysWithPrefix("bd/prod/Charge/invoice-7/")}, activity.EffectKeys("b/prod/Charge/invoice-7"))
	require.Len(t, activity.EffectKeys("w/prod/"+strings.Repeat("o", 100)+"/0/Charge/1"), 2, "a long part may stand as its digest beside the effect's name")
	for _, key := range []string{"", "k", "w", "w/", "x/prod/order-42", "a:b:w/prod/x", "wd/prod/order-42/0/Charge/1/charge", "d/x"} {
		require.Empty(t, activity.EffectKeys(key), key)
	}
	require.True(t, activity.IsEffectKey("eu:wd/prod/order-42/0/Charge/1/charge"))
	for _, key := range []string{"", "wd", "w/d/x", "dw/x", "xd/y"} {
		require.False(t, activity.IsEffectKey(key), key)
	}
}

func TestRecordProviderKey(t *testing.T) {
	t.Parallel()
	// Providers know calls by these: another form charges for all of them again.
	key := activity.RecordProviderKey("k", 1)
	require.EqualValues(t, "91da23dbc89aa95daa366eaaabeb829c21b0367dcd7a0f5fcbf23d5ce4058129", key)
	require.EqualValues(t, "295bf42bbde3e67b80b48f65cf982ecc785abdd122a5353d2caa76a15c2d3d00", key.For("stripe", "charge"))
	require.NotEqual(t, key, activity.RecordProviderKey("k", 0))
}
