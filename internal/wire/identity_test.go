package wire_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/wire"
)

func TestPosition(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		facts wire.Facts
		want  string
	}{
		"CountsContinuations":                 {wire.Facts{Chain: chain(3), OriginalRunID: "o", RunID: "r"}, "3"},
		"NamesTheOriginalRunWhereNotKnown":    {wire.Facts{OriginalRunID: "o", RunID: "r"}, "run:o"},
		"NamesTheOriginalRunOfACronRun":       {wire.Facts{Chain: chain(0), Cron: true, OriginalRunID: "o", RunID: "r"}, "run:o"},
		"NamesTheExecutionOfAChildsCronRun":   {wire.Facts{Chain: chain(0), Cron: true, OriginalRunID: "o", RunID: "r", Execution: "p/Ship/1"}, "run:p/Ship/1"},
		"NamesTheRunWhereNothingElseIsKnown":  {wire.Facts{RunID: "r"}, "run:r"},
		"CannotBeTakenForARunWithANumberAsID": {wire.Facts{OriginalRunID: "3"}, "run:3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.want, tc.facts.Position())
		})
	}
}

func TestCallName(t *testing.T) {
	t.Parallel()
	require.Equal(t, "3", wire.Facts{Number: 3}.CallName())
	require.Equal(t, "step:1:deposit", wire.Facts{Number: 1, Step: "deposit"}.CallName())
	require.Equal(t, "args:2:abc", wire.Facts{Number: 2, Arguments: "abc"}.CallName())
	require.Equal(t, "step-args:2:abc:de:posit", wire.Facts{Number: 2, Arguments: "abc", Step: "de:posit"}.CallName())
}

func TestChildScope(t *testing.T) {
	t.Parallel()
	parent := wire.Facts{WorkflowID: "order-42", RunID: "r", Chain: chain(1)}

	t.Run("ExtendsTheParentsWorkflowID", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, []string{"order-42", "1", "Ship", "2"}, wire.ChildScope(parent, "Ship", "2"))
	})

	t.Run("ExtendsTheParentsScopeAndLeavesItAlone", func(t *testing.T) {
		t.Parallel()
		nested := wire.Facts{WorkflowID: "r_5", Chain: chain(0), Scope: append(make([]string, 0, 16), "order-42", "1", "Ship", "2")}
		want := []string{"order-42", "1", "Ship", "2", "0", "Pack", "1"}
		got := wire.ChildScope(nested, "Pack", "1")
		wire.ChildScope(nested, "Other", "9")
		require.Equal(t, want, got)
	})

	t.Run("StaysSmallHoweverDeeplyNested", func(t *testing.T) {
		t.Parallel()
		f, seen := parent, map[string]bool{}
		for range 500 {
			f.Scope = wire.ChildScope(f, "Recurse", "1")
			require.LessOrEqual(t, len(f.Scope), wire.MaxScopeElements)
			require.Equal(t, "order-42", f.Scope[0])
			text := strings.Join(f.Scope, "\x00")
			require.LessOrEqual(t, len(text), 2000)
			require.False(t, seen[text], "two generations share a scope")
			seen[text] = true
		}
	})

	t.Run("StaysSmallHoweverLongTheNames", func(t *testing.T) {
		t.Parallel()
		step := wire.Facts{Number: 1, Step: strings.Repeat("x", wire.MaxTextBytes)}
		require.LessOrEqual(t, len(strings.Join(wire.ChildScope(parent, "Ship", step.CallName()), "")), 200)
	})
}

func TestChildInput(t *testing.T) {
	t.Parallel()
	require.Equal(t, "own", wire.ChildInput("", "own"))
	require.Equal(t, "parent", wire.ChildInput("parent", ""))
	seen := map[string]bool{"parent": true, "own": true}
	for _, pair := range [][2]string{{"parent", "own"}, {"own", "parent"}, {"parent", "other"}, {"other", "own"}} {
		got := wire.ChildInput(pair[0], pair[1])
		require.False(t, seen[got], pair)
		require.Less(t, len(got), 100)
		seen[got] = true
	}
}

func TestExtend(t *testing.T) {
	t.Parallel()

	t.Run("KeepsPlainTextReadable", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, "run-1/Ship/2/Pack/1", wire.Extend(wire.Extend("run-1", "Ship", "2"), "Pack", "1"))
		require.Equal(t, "run-1/pkg%2FShip/step:1:50%25", wire.Extend("run-1", "pkg/Ship", "step:1:50%"))
	})

	t.Run("StaysSmallHoweverDeeplyNested", func(t *testing.T) {
		t.Parallel()
		text, seen := "run-1", map[string]bool{}
		for range 2000 {
			text = wire.Extend(text, "Recurse", "1")
			require.LessOrEqual(t, len(text), 1<<10)
			require.False(t, seen[text], "two generations share a text")
			seen[text] = true
		}
	})

	t.Run("NeverGivesTwoChildrenOneText", rapid.MakeCheck(func(t *rapid.T) {
		part := rapid.StringOf(rapid.SampledFrom([]rune("a/%2F5")))
		p, q := part.Draw(t, "parent"), part.Draw(t, "other parent")
		a, b := [2]string{part.Draw(t, "a0"), part.Draw(t, "a1")}, [2]string{part.Draw(t, "b0"), part.Draw(t, "b1")}
		require.Equal(t, p == q && a == b, wire.Extend(p, a[:]...) == wire.Extend(q, b[:]...))
	}))
}
