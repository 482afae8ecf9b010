package storetest

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// modelOrder is who changes records in the model, and why.
var modelOrder = store.Order{Actor: "model", Reason: "walks"}

// operate is what an operator does about a record, or about what it was before.
func (m *model) operate(t *rapid.T) {
	e := m.look(t, rapid.SampledFrom(m.keys).Draw(t, "key"))
	c := rapid.SampledFrom([]store.Change{
		{Verb: store.VerbRelease, Keep: modelRetention},
		{Verb: store.VerbRelease, Keep: modelLease, FreshKey: true},
		{Verb: store.VerbRelease, Keep: modelRetention, Force: true},
		{Verb: store.VerbComplete, Keep: modelRetention, Result: []byte("given")},
		{Verb: store.VerbComplete, Keep: modelRetention, Force: true},
		{Verb: store.VerbFail, Keep: modelRetention, Failure: []byte("given")},
		{Verb: store.VerbPurge},
		{Verb: store.VerbDelete},
	}).Draw(t, "change")
	if c.Verb.Fits(e.Seen()) != "" {
		t.Skip("the verb does not fit")
	}
	c.Key, c.Seen, c.Token = e.Key, e.Seen(), store.NewToken()
	before, _ := m.read(m.h.Store, e.Key)
	if m.change(c) == store.ResolvedDone {
		return
	}
	after, _ := m.read(m.h.Store, e.Key)
	require.Equal(m.t, before, after, "a change that was not made wrote")
}

// look lets an operator look at a record, and answers that look or an earlier one.
func (m *model) look(t *rapid.T, key string) store.Entry {
	find := func(a store.Admin) []store.Entry {
		entries, err := a.Find(context.Background(), []string{key})
		require.NoError(m.t, err)
		return entries
	}
	want, got := find(m.admin), find(m.h.Admin)
	require.Len(m.t, got, len(want))
	if len(got) > 0 {
		m.seen = append(m.seen, got[0])
		require.Equal(m.t, want[0].Seen(), got[0].Seen())
		gaveUp := func(e store.Entry) bool { return e.GivenUp && e.Status == store.StatusInProgress }
		require.Equal(m.t, gaveUp(want[0]), gaveUp(got[0]))
	}
	if len(m.seen) == 0 {
		t.Skip("nobody has seen anything yet")
	}
	if rapid.Bool().Draw(t, "seen long ago") {
		return rapid.SampledFrom(m.seen).Draw(t, "entry")
	}
	return m.seen[len(m.seen)-1]
}

// change makes an operator's change on both stores, its first answer lost or not.
func (m *model) change(c store.Change) store.Resolved {
	lost := rapid.Bool().Draw(m.t, "answer lost")
	m.now = m.now.Add(time.Millisecond)
	do := func(a store.Admin) ([]store.Resolved, error) {
		resolve := a.Resolve
		if c.Verb == store.VerbPurge || c.Verb == store.VerbDelete {
			resolve = a.Purge
		}
		if lost {
			_, _ = resolve(context.Background(), modelOrder, []store.Change{c})
		}
		return resolve(context.Background(), modelOrder, []store.Change{c})
	}
	want, wantErr := do(m.admin)
	got, gotErr := do(m.h.Admin)
	require.NoError(m.t, wantErr)
	require.NoError(m.t, gotErr)
	require.Equal(m.t, want, got)
	return got[0]
}

// count compares what both stores count and list.
func (m *model) count(*rapid.T) {
	stats := func(a store.Admin) store.Counts {
		st, err := a.Stats(context.Background(), store.StatsOptions{})
		require.NoError(m.t, err)
		require.Equal(m.t, st.Total.Held, st.Held)
		st.Total.Oldest = time.Time{}
		return st.Total
	}
	require.Equal(m.t, stats(m.admin), stats(m.h.Admin))
	list := func(a store.Admin, q store.Query) []string {
		q.Limit = 10
		entries, err := a.List(context.Background(), q)
		require.NoError(m.t, err)
		var keys []string
		for _, e := range entries {
			keys = append(keys, e.Key)
		}
		return keys
	}
	overlapping := []store.KeyRange{store.KeysWithPrefix(m.keys[1]), store.AllKeys(), store.KeysWithPrefix(m.keys[0])}
	for _, q := range []store.Query{
		{}, {Held: true}, {PastLease: true}, {Pending: true}, {EffectPossible: true}, {Status: store.StatusCompleted}, {After: m.keys[0]},
		{Ranges: overlapping}, {Ranges: overlapping, Held: true}, {Ranges: []store.KeyRange{{From: m.keys[1], Before: m.keys[0]}}},
	} {
		require.Equal(m.t, list(m.admin, q), list(m.h.Admin, q), "%+v", q)
	}
}

// deleteAll leaves nothing for the next round, which counts what there is: what
// has no live lease, an operator can delete.
func (m *model) deleteAll() {
	entries, err := m.h.Admin.List(context.Background(), store.Query{Limit: 10})
	require.NoError(m.t, err)
	for _, e := range entries {
		require.Equal(m.t, store.ResolvedDone, m.change(store.Change{
			Verb: store.VerbDelete, Key: e.Key, Seen: e.Seen(), Token: store.NewToken(),
		}), "%+v", e)
	}
}
