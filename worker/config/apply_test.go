package config_test

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/worker/config"
)

func ask(context.Context, activity.VerifyRequest) (activity.Verification, error) {
	return activity.CannotTell(), nil
}

// apply joins a file and policies, and returns the policy of one type.
func apply(t testing.TB, text string, code map[string]activity.Policy, name string) activity.Policy {
	t.Helper()
	options, err := requireConfig(t, text).Apply(activity.Options{Policies: code})
	require.NoError(t, err)
	p, ok := options.Policies[name]
	require.True(t, ok)
	return p
}

func TestApply(t *testing.T) {
	t.Parallel()

	t.Run("every field that a file can set reaches the policy", func(t *testing.T) {
		t.Parallel()
		p := apply(t, `activities:
  A:
    scope: run
    retention: 24h
    takeover: verify
    verify_timeout: 3s
    on_other_execution: replay
    require_header: true
    max_result_bytes: 1_000
    wait_limit: 4s
    max_overrun: 5m
    on_store_error: run_unprotected
`, nil, "A")
		require.Equal(t, activity.Policy{
			Scope: activity.ScopeRun, Retention: 24 * time.Hour, Takeover: store.Verify, VerifyTimeout: 3 * time.Second,
			OnOtherExecution: store.ReplayOther, RequireHeader: true, MaxResultBytes: 1000, WaitLimit: 4 * time.Second,
			MaxOverrun: 5 * time.Minute, OnStoreError: activity.RunUnprotected, Source: "dedupe.yaml:2",
		}, p)
		require.Equal(t, activity.Policy{Off: true, Source: "dedupe.yaml:1"}, apply(t, "activities: {A: {off: true}}", nil, "A"))
		require.Equal(t, -1, apply(t, "activities: {A: {max_result_bytes: unlimited}}", nil, "A").MaxResultBytes)
	})

	t.Run("a field is taken from the type's block, then code, then the defaults", func(t *testing.T) {
		t.Parallel()
		const text = "defaults: {retention: 1h, wait_limit: 1s, scope: run}\nactivities: {A: {retention: 3h}, B: {}}\n"
		code := map[string]activity.Policy{"A": {Retention: 2 * time.Hour, WaitLimit: 2 * time.Second}, "C": {Retention: 2 * time.Hour}}
		a := apply(t, text, code, "A")
		require.Equal(t, 3*time.Hour, a.Retention, "the type's block")
		require.Equal(t, 2*time.Second, a.WaitLimit, "code")
		require.Equal(t, activity.ScopeRun, a.Scope, "the defaults")
		require.Zero(t, a.MaxOverrun, "the default of the field")
		require.Empty(t, a.Source, "a type that code names is held to code's rules")
		require.Equal(t, time.Hour, apply(t, text, code, "B").Retention)
		c := apply(t, text, code, "C")
		require.Equal(t, 2*time.Hour, c.Retention)
		require.Equal(t, activity.ScopeRun, c.Scope, "the defaults serve types that only code names")
		require.Equal(t, map[string]activity.Policy{"A": {Retention: 2 * time.Hour, WaitLimit: 2 * time.Second}, "C": {Retention: 2 * time.Hour}},
			code, "the caller's policies are not changed")
	})

	t.Run("what code says wins over the defaults, also where it is what nothing would mean", func(t *testing.T) {
		t.Parallel()
		safe := activity.Policy{
			Scope: activity.ScopeWorkflowID, Takeover: store.Reexecute,
			OnOtherExecution: store.RefuseOther, OnStoreError: activity.FailClosed,
		}
		const text = "defaults: {scope: run, takeover: refuse, on_other_execution: replay, on_store_error: run_unprotected}\n"
		require.Equal(t, safe, apply(t, text, map[string]activity.Policy{"A": safe}, "A"))
	})

	t.Run("false in a type's block wins over true in the defaults", func(t *testing.T) {
		t.Parallel()
		const text = "defaults: {require_header: true}\nactivities: {A: {require_header: false}, B: {}}\n"
		require.False(t, apply(t, text, nil, "A").RequireHeader)
		require.True(t, apply(t, text, nil, "B").RequireHeader)
	})

	t.Run("functions come from code", func(t *testing.T) {
		t.Parallel()
		code := map[string]activity.Policy{"A": {
			Verify: ask, IsFinal: func(any) bool { return true }, Fingerprint: func([]any) ([]byte, error) { return nil, nil },
		}}
		p := apply(t, "activities: {A: {takeover: verify}}", code, "A")
		require.NotNil(t, p.Verify)
		require.NotNil(t, p.IsFinal)
		require.NotNil(t, p.Fingerprint)
		require.NoError(t, activity.Options{Store: nothing{}, Policies: map[string]activity.Policy{"A": p}}.Validate())
	})

	t.Run("a file can take a type from its verifier", func(t *testing.T) {
		t.Parallel()
		code := map[string]activity.Policy{"A": {Takeover: store.Verify, Verify: ask}}
		p := apply(t, "activities: {A: {takeover: refuse}}", code, "A")
		require.Equal(t, store.Refuse, p.Takeover)
		require.Nil(t, p.Verify)
		require.NotNil(t, apply(t, "defaults: {takeover: refuse}", code, "A").Verify, "but not by its defaults")
	})

	t.Run("a verifier that code does not have is an error that names both", func(t *testing.T) {
		t.Parallel()
		for text, want := range map[string]string{
			"activities:\n  A:\n    takeover: verify\n": `dedupe: dedupe.yaml:3:5: activities.A.takeover: verify asks a function of code, and Options.Policies["A"].Verify is not set`,
			"defaults:\n  takeover: verify\n":           `dedupe: dedupe.yaml:2:3: defaults.takeover: verify asks a function of code, and Options.Policies["A"].Verify is not set`,
		} {
			_, err := requireConfig(t, text).Apply(activity.Options{Policies: map[string]activity.Policy{"A": {}}})
			require.EqualError(t, err, want)
		}
		_, err := requireConfig(t, "defaults: {takeover: verify}").Apply(activity.Options{Policies: map[string]activity.Policy{"A": {Off: true}}})
		require.NoError(t, err, "a type that is off asks nobody")
	})

	t.Run("every field of a policy is in the file, or a function of code", func(t *testing.T) {
		t.Parallel()
		const text = "activities:\n  A:\n    nonsense: 1\n"
		_, err := config.Parse("f", []byte(text))
		_, list, found := strings.Cut(err.Error(), "want one of ")
		require.True(t, found)
		named := strings.Split(list, ", ")
		policy := reflect.TypeFor[activity.Policy]()
		inFile := 0
		for i := range policy.NumField() {
			f := policy.Field(i)
			if f.Type.Kind() == reflect.Func || f.Name == "Source" {
				continue
			}
			inFile++
			require.Contains(t, named, snake(f.Name))
		}
		require.Len(t, named, inFile)
	})
}

// snake writes a field's name as the file does.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return strings.ToLower(b.String())
}

// nothing is a store that is never called.
type nothing struct{ store.Store }

func TestExplain(t *testing.T) {
	t.Parallel()
	c := requireConfig(t, `defaults:
  retention: 24h
activities:
  B:
    off: true
  A:
    takeover: refuse
  "*":
    retention: 48h
`)
	value := func(settings []config.Setting, field string) string {
		for _, s := range settings {
			if s.Field == field {
				return s.Value + " from " + s.Source
			}
		}
		return "absent"
	}
	t.Run("each value comes with its line", func(t *testing.T) {
		t.Parallel()
		all := c.Explain()
		require.Len(t, all, 3)
		require.Equal(t, []string{"A", "B", "*"}, []string{all[0].Activity, all[1].Activity, all[2].Activity})
		require.Equal(t, "dedupe.yaml:6", all[0].Source)
		require.Equal(t, "refuse from dedupe.yaml:7", value(all[0].Settings, "takeover"))
		require.Equal(t, "24h0m0s from dedupe.yaml:2", value(all[0].Settings, "retention"))
		require.Equal(t, "workflow_id from default", value(all[0].Settings, "scope"))
		require.Equal(t, "2097152 from default", value(all[0].Settings, "max_result_bytes"))
		require.Equal(t, []config.Setting{{Field: "off", Value: "true", Source: "dedupe.yaml:5"}}, all[1].Settings)
		require.Equal(t, "48h0m0s from dedupe.yaml:9", value(all[2].Settings, "retention"))
	})
	t.Run("a type without a block has the one for the rest", func(t *testing.T) {
		t.Parallel()
		all := c.Explain("C")
		require.Equal(t, `"*" dedupe.yaml:8`, all[0].Source)
		require.Equal(t, "48h0m0s from dedupe.yaml:9", value(all[0].Settings, "retention"))
	})
	t.Run("or none", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, []config.Effective{{Activity: "C", Settings: []config.Setting{}}},
			requireConfig(t, "activities: {A: {}}").Explain("C"))
	})
	t.Run("the defaults are told too", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, "24h0m0s from dedupe.yaml:2", value(c.Defaults(), "retention"))
		require.Equal(t, "absent", value(c.Defaults(), "off"))
	})
	t.Run("activity types that a list does not have are warned of", func(t *testing.T) {
		t.Parallel()
		warnings := c.Unknown([]string{"A", "D"})
		require.Len(t, warnings, 1)
		require.Equal(t, "4:3: activities.B: names an activity type that is not in the list: its policy protects nothing", warnings[0].String())
	})
}
