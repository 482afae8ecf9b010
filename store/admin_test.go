package store_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

func TestOrderValidate(t *testing.T) {
	t.Parallel()
	require.NoError(t, store.Order{Actor: "ann", Reason: strings.Repeat("x", 1000)}.Validate())
	requireInvalid(t, store.Order{Reason: "x"}.Validate(), "Actor")
	requireInvalid(t, store.Order{Actor: "ann", Reason: " \n"}.Validate(), "Reason")
	requireInvalid(t, store.Order{Actor: "ann", Reason: strings.Repeat("x", 1001)}.Validate(), "Reason")
}

func TestQueryValidate(t *testing.T) {
	t.Parallel()
	require.NoError(t, store.Query{Limit: store.MaxListed}.Validate())
	requireInvalid(t, store.Query{}.Validate(), "Limit")
	requireInvalid(t, store.Query{Limit: store.MaxListed + 1}.Validate(), "Limit")
	requireInvalid(t, store.Query{Limit: 1, Status: "held"}.Validate(), "Status")
	requireInvalid(t, store.Query{Limit: 1, Held: true, After: "a"}.Validate(), "After")
}

func TestKeyRanges(t *testing.T) {
	t.Parallel()
	in := func(r store.KeyRange, key string) bool { return r.From <= key && key < r.Before }
	for prefix, keys := range map[string]map[string]bool{
		"w/prod/a/":   {"w/prod/a/": true, "w/prod/a/0/T/1": true, "w/prod/a": false, "w/prod/a0": false, "w/prod/b/0/T/1": false, "w/prod/a/\U0010FFFF": true},
		"~":           {"~": true, "~a": true, "}": false, "\x7f": false},
		"é":           {"é": true, "éa": true, "ê": false, "è": false, "\u00ff": false},
		"a\ud7ff":     {"a\ud7ffz": true, "a\ue000": false, "a\ud7fe": false, "b": false},
		"a\U0010ffff": {"a\U0010ffff": true, "a\U0010ffffz": true, "a\U0010fffe": false, "b": false},
		"\U0010ffff":  {"\U0010ffffa": true, "\U0010fffe": false},
		"":            {"": true, "w/": true, strings.Repeat("\U0010FFFF", 128): true},
	} {
		r := store.KeysWithPrefix(prefix)
		for key, want := range keys {
			require.Equal(t, want, in(r, key), "%q in %q", key, prefix)
		}
	}
}

func TestChangeValidate(t *testing.T) {
	t.Parallel()
	change := func(verb store.Verb, edits ...func(*store.Change)) store.Change {
		c := store.Change{
			Key: "k", Token: store.NewToken(), Verb: verb, Keep: time.Hour,
			Seen: store.Seen{Token: store.NewToken(), Status: store.StatusInProgress, Held: true, EffectPossible: true},
		}
		switch verb {
		case store.VerbFail:
			c.Failure = []byte{}
		case store.VerbPurge:
			c.Seen = store.Seen{Token: store.NewToken(), Status: store.StatusCompleted}
		}
		for _, edit := range edits {
			edit(&c)
		}
		return c
	}
	all := []store.Verb{store.VerbRelease, store.VerbComplete, store.VerbFail, store.VerbPurge, store.VerbDelete}
	for _, verb := range all {
		require.NoError(t, change(verb).Validate(), verb)
		requireInvalid(t, change(verb, func(c *store.Change) { c.Seen.Token = store.Token{} }).Validate(), "Seen.Token")
		requireInvalid(t, change(verb, func(c *store.Change) { c.Token = store.Token{} }).Validate(), "zero Token")
	}
	requireInvalid(t, change("forget").Validate(), "Verb")
	only := func(field string, edit func(*store.Change), allowed ...store.Verb) {
		t.Helper()
		for _, verb := range all {
			err := change(verb, edit).Validate()
			if slices.Contains(allowed, verb) {
				require.NoError(t, err, verb)
			} else {
				requireInvalid(t, err, field)
			}
		}
	}
	only("Force", func(c *store.Change) { c.Force = true }, store.VerbRelease, store.VerbComplete, store.VerbFail)
	only("FreshKey", func(c *store.Change) { c.FreshKey = true }, store.VerbRelease)
	only("Result", func(c *store.Change) { c.Result = []byte{} }, store.VerbComplete)
	only("Failure", func(c *store.Change) { c.Failure = []byte{} }, store.VerbFail)
	only("Keep", func(c *store.Change) { c.Keep = 0 }, store.VerbPurge, store.VerbDelete)
	requireInvalid(t, change(store.VerbFail, func(c *store.Change) { c.Failure = nil }).Validate(), "Failure")
}

// Every verb and every state that a record can be in.
func TestVerbsFitStates(t *testing.T) {
	t.Parallel()
	states := map[string]store.Seen{
		"in progress": {Status: store.StatusInProgress},
		"failed":      {Status: store.StatusFailed},
		"completed":   {Status: store.StatusCompleted},
		"too large":   {Status: store.StatusCompleted, Tombstone: store.TombstoneResultTooLarge},
		"purged":      {Status: store.StatusCompleted, Tombstone: store.TombstonePurged},
	}
	for verb, fits := range map[store.Verb][]string{
		store.VerbRelease:  {"in progress", "failed"},
		store.VerbFail:     {"in progress", "failed"},
		store.VerbComplete: {"in progress", "failed", "too large", "purged"},
		store.VerbPurge:    {"completed"},
		store.VerbDelete:   {"in progress", "failed", "completed", "too large", "purged"},
	} {
		for name, seen := range states {
			require.Equal(t, slices.Contains(fits, name), verb.Fits(seen) == "", "%s %s", verb, name)
		}
	}
}

// Everything that an operator decides on moves the mark.
func TestMark(t *testing.T) {
	t.Parallel()
	seen := store.Seen{Token: store.NewToken(), Status: store.StatusInProgress}
	marks := map[string]bool{seen.Mark(): true}
	for _, edit := range []func(*store.Seen){
		func(s *store.Seen) { s.Token = store.NewToken() },
		func(s *store.Seen) { s.Status = store.StatusFailed },
		func(s *store.Seen) { s.Held = true },
		func(s *store.Seen) { s.Pending = true },
		func(s *store.Seen) { s.EffectPossible = true },
		func(s *store.Seen) { s.Generation = 1 },
		func(s *store.Seen) { s.Tombstone = store.TombstonePurged },
	} {
		s := seen
		edit(&s)
		marks[s.Mark()] = true
	}
	require.Len(t, marks, 8)
	require.Regexp(t, `^[0-9a-f]{12}$`, seen.Mark())
}

func TestNamed(t *testing.T) {
	t.Parallel()
	require.Equal(t, "release --fresh-key --force", store.Change{Verb: store.VerbRelease, FreshKey: true, Force: true}.Named())
	require.Equal(t, "purge", store.Change{Verb: store.VerbPurge}.Named())
}
