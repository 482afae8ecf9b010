package store_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// meeting is one combination of everything that may decide.
type meeting struct {
	found store.Record
	asks  store.Reservation
}

// meetings enumerates all of them, about 23,000.
func meetings(visit func(meeting)) {
	bools := []bool{false, true}
	each := func(n int, f func(i int)) {
		for i := range n {
			f(i)
		}
	}
	for _, status := range []store.Status{store.StatusInProgress, store.StatusCompleted, store.StatusFailed} {
		for _, policy := range []store.TakeoverPolicy{store.Reexecute, store.Refuse, store.Verify} {
			each(16, func(bits int) {
				for _, left := range []time.Duration{-time.Second, 0, 1} {
					for _, other := range []store.OtherExecution{store.RefuseOther, store.ReplayOther, store.AnyOther} {
						for _, lineage := range []string{"first", "second"} {
							for _, invocation := range [][2]string{{"a", "a"}, {"a", "b"}, {"", ""}} {
								for _, hash := range []string{"h1", "h2", "h3"} {
									visit(meeting{
										found: record(func(r *store.Record) {
											r.Status, r.Policy, r.LeaseLeft, r.Hash = status, policy, left, hash
											r.EffectPossible, r.Held = bools[bits&1], bools[bits>>1&1]
											r.Pending, r.NonRetryable = bools[bits>>2&1], bools[bits>>3&1]
											r.Lineage, r.Invocation = lineage, invocation[0]
										}),
										asks: reservation(func(r *store.Reservation) {
											r.Hashes, r.OnOther, r.Invocation = []string{"h1", "h2"}, other, invocation[1]
										}),
									})
								}
							}
						}
					}
				}
			})
		}
	}
}

// The facts that the table speaks of, in its words.
func (m meeting) other() bool {
	return m.found.Lineage != m.asks.Lineage && m.asks.OnOther != store.AnyOther
}
func (m meeting) harmless() bool {
	f := m.found
	return f.Status != store.StatusCompleted && !f.EffectPossible && !f.Held && !m.live()
}
func (m meeting) live() bool {
	return m.found.Status == store.StatusInProgress && m.found.LeaseLeft > 0
}
func (m meeting) differs() bool { return !slices.Contains(m.asks.Hashes, m.found.Hash) }
func (m meeting) same() bool {
	return m.found.Invocation == m.asks.Invocation && m.asks.Invocation != ""
}
func (m meeting) mayRunAgain() bool {
	f := m.found
	return !f.Held && f.Status != store.StatusCompleted && !m.live() && (!f.EffectPossible || f.Policy == store.Reexecute)
}

// want is the table, written down a second time and read from above.
func (m meeting) want() store.Verdict {
	f := m.found
	v := store.Verdict{Other: m.other() && !m.harmless() && m.asks.OnOther == store.ReplayOther}
	for _, row := range []struct {
		applies bool
		action  store.Action
	}{
		{m.other() && !m.harmless() && !v.Other, store.ActOther},
		{!m.same() && m.differs() && !m.harmless(), store.ActConflict},
		{f.Status == store.StatusCompleted, store.ActReplay},
		{f.Status == store.StatusFailed && f.NonRetryable && m.same(), store.ActReplayFailure},
		{m.live() && f.Pending, store.ActPending},
		{m.live(), store.ActWait},
		{m.mayRunAgain(), store.ActAcquire},
		{f.Policy == store.Verify, store.ActVerify},
		{true, store.ActUnknown},
	} {
		if row.applies {
			v.Action = row.action
			break
		}
	}
	return v
}

func TestDecideExhaustively(t *testing.T) {
	t.Parallel()

	t.Run("every combination is decided as the table says", func(t *testing.T) {
		t.Parallel()
		n := 0
		meetings(func(m meeting) {
			n++
			if got := store.Decide(m.found, m.asks); got != m.want() {
				require.Equal(t, m.want(), got, "%+v", m)
			}
		})
		require.Equal(t, 23328, n)
	})

	// A run has one lineage, so that the same invocation in two of them is in the
	// table only.
	t.Run("no combination gives a wrong answer that looks right", func(t *testing.T) {
		t.Parallel()
		meetings(func(m meeting) {
			v, f := store.Decide(m.found, m.asks), m.found
			never := func(wrong bool, why string) {
				if wrong {
					require.Fail(t, why, "%v for %+v", v, m)
				}
			}
			runs := v.Action == store.ActAcquire
			owns := runs || v.Action == store.ActVerify
			replays := v.Action == store.ActReplay || v.Action == store.ActReplayFailure
			never(v.Action == "", "no action")
			never(owns && m.live(), "takes over from a live owner")
			never(owns && f.Status == store.StatusCompleted, "runs what has a result")
			never(runs && f.Held, "runs what an operator must resolve")
			never(runs && f.EffectPossible && f.Policy != store.Reexecute, "runs although an effect is possible and must not be repeated")
			never(runs && f.Status == store.StatusFailed && f.NonRetryable && m.same(), "runs the author's definite word again")
			never(owns && m.differs() && !m.same() && f.EffectPossible, "gives other arguments a provider key that is known")
			never(replays && m.differs() && !m.same(), "answers other arguments")
			never(v.Action == store.ActWait && m.differs() && !m.same(), "waits for the result of other arguments")
			never(v.Action == store.ActReplay && f.Status != store.StatusCompleted, "replays no result")
			never(v.Action == store.ActReplayFailure && !(f.Status == store.StatusFailed && m.same()), "replays somebody else's failure")
			never(replays && m.other() && !m.same() && !v.Other, "answers another execution's outcome in silence")
			never(owns && m.other() && !m.harmless() && !v.Other, "takes another execution's record in silence")
			never(v.Other && m.asks.OnOther != store.ReplayOther, "flags what was not asked for")
			never(v.Action == store.ActConflict && m.same(), "refuses an attempt of its own invocation")
			never(v.Action == store.ActUnknown && !f.EffectPossible && !f.Held, "asks an operator about nothing")
		})
	})
}

func TestDecideReadsNothingElse(t *testing.T) {
	t.Parallel()

	t.Run("fields that are for people decide nothing", func(t *testing.T) {
		t.Parallel()
		var all []meeting
		meetings(func(m meeting) { all = append(all, m) })
		rapid.Check(t, func(t *rapid.T) {
			m := rapid.SampledFrom(all).Draw(t, "meeting")
			want := store.Decide(m.found, m.asks)
			text := func(name string) string { return rapid.String().Draw(t, name) }
			for i, o := range []*store.Origin{&m.found.Origin, &m.asks.Origin} {
				o.Namespace, o.WorkflowID, o.RunID, o.ActivityID = text("namespace"), text("workflow"), text("run"), text("activity")
				o.ActivityType, o.Owner, o.TraceParent = text("type"), text("owner"), text("trace")
				o.Attempt, o.ScheduledAt = i+rapid.Int().Draw(t, "attempt"), time.Unix(rapid.Int64().Draw(t, "scheduled"), 0)
			}
			m.found.Token, m.found.Generation, m.found.Acquisitions = store.NewToken(), rapid.Int().Draw(t, "generation"), rapid.Int().Draw(t, "acquisitions")
			m.found.Result, m.found.Failure = []byte(text("result")), []byte(text("failure"))
			m.found.Tombstone, m.found.ResultSize = store.Tombstone(text("tombstone")), rapid.Int64().Draw(t, "size")
			m.found.CreatedAt, m.found.UpdatedAt, m.found.ExpiresAt = time.Now(), time.Now(), time.Time{}
			m.asks.Token, m.asks.Lease, m.asks.Retention = m.found.Token, 0, 0
			m.asks.Policy = rapid.SampledFrom([]store.TakeoverPolicy{store.Reexecute, store.Refuse, store.Verify}).Draw(t, "policy")
			require.Equal(t, want, store.Decide(m.found, m.asks))
		})
	})
}
