package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// state brings a record into one of the states that it can have.
type state struct {
	name  string
	reach func(k *kit, r store.Reservation)
	// takes tells for each of endings() whether the owner may settle so.
	takes [8]bool
}

func states() []state {
	const y, n = true, false
	settle := func(s store.Settlement) func(*kit, store.Reservation) {
		return func(k *kit, r store.Reservation) { k.apply(r, s) }
	}
	late := func(k *kit, _ store.Reservation) { k.Advance(lease + slack) }
	then := func(steps ...func(*kit, store.Reservation)) func(*kit, store.Reservation) {
		return func(k *kit, r store.Reservation) {
			for _, step := range steps {
				step(k, r)
			}
		}
	}
	hold := settle(store.Settlement{Outcome: store.OutcomeHold})
	pend := settle(store.Settlement{Outcome: store.OutcomePend, Lease: lease})
	fail := settle(store.Settlement{Outcome: store.OutcomeFail, Failure: []byte("boom"), EffectPossible: true})
	// complete, fail with and without effect, release likewise, hold, own hold, pend
	return []state{
		{"live", then(), [8]bool{y, y, y, y, y, n, y, y}},
		{"late", late, [8]bool{y, y, y, y, y, y, y, y}},
		{"released", settle(store.Settlement{Outcome: store.OutcomeRelease, EffectPossible: true}), [8]bool{y, y, y, y, y, y, y, y}},
		{"released without effect", settle(store.Settlement{Outcome: store.OutcomeRelease}), [8]bool{y, y, y, y, y, n, n, y}},
		{"held", then(late, hold), [8]bool{y, y, y, y, y, y, y, y}},
		{"pending", pend, [8]bool{y, y, y, y, y, n, y, y}},
		{"pending too long", then(pend, late), [8]bool{y, y, y, y, y, y, y, y}},
		{"failed", fail, [8]bool{n, y, n, n, n, y, y, n}},
		{"failed without effect", settle(store.Settlement{Outcome: store.OutcomeFail, Failure: []byte("boom")}), [8]bool{n, n, n, n, n, n, n, n}},
		{"failed and held", then(fail, hold), [8]bool{n, y, n, n, n, y, y, n}},
		{"completed", settle(store.Settlement{Outcome: store.OutcomeComplete, Result: []byte("paid"), ResultSize: 4}), [8]bool{y, n, n, n, n, n, n, n}},
	}
}

func transitionTests() []named {
	tests := make([]named, 0, len(states())+1)
	for _, s := range states() {
		tests = append(tests, named{"a record that is " + s.name + " takes exactly these outcomes", func(k *kit) {
			k.requireOwnersOnly(s)
			for i, ending := range endings() {
				k.requireTransition(s, ending, s.takes[i])
			}
		}})
	}
	return append(tests, named{"a record that is gone takes no outcome", func(k *kit) {
		for _, ending := range endings() {
			r := k.reservation()
			require.Equal(k, store.SettledMissing, k.settle(r, ending), string(ending.Outcome))
			k.requireMissing(r)
		}
	}})
}

// requireOwnersOnly requires that the record takes nothing from another token.
func (k *kit) requireOwnersOnly(s state) {
	k.Helper()
	r := k.reservation(policy(store.Refuse))
	k.insert(r)
	s.reach(k, r)
	before := k.get(r)
	for _, ending := range endings() {
		require.Equal(k, store.SettledStale, k.settle(again(r), ending), "%v by another token", ending.Outcome)
	}
	k.requireUnchanged(before)
}

func (k *kit) requireTransition(s state, ending store.Settlement, takes bool) {
	k.Helper()
	r := k.reservation(policy(store.Refuse))
	k.insert(r)
	s.reach(k, r)
	before := k.get(r)
	if !takes {
		k.requireStale(r, ending)
		return
	}
	require.Equal(k, store.SettledApplied, k.settle(r, ending), "%+v", ending)
	k.requireOutcome(before, ending, k.get(r))
}

// requireOutcome requires that the record stands as the settlement says.
func (k *kit) requireOutcome(before store.Record, s store.Settlement, after store.Record) {
	k.Helper()
	k.requireIdentity(before, after)
	status := map[store.Outcome]store.Status{
		store.OutcomeComplete: store.StatusCompleted, store.OutcomeFail: store.StatusFailed,
		store.OutcomeRelease: store.StatusInProgress, store.OutcomeHold: before.Status, store.OutcomePend: store.StatusInProgress,
	}[s.Outcome]
	effect, held := before.EffectPossible, before.Held
	switch s.Outcome {
	case store.OutcomeComplete:
		effect, held = false, false
	case store.OutcomeFail, store.OutcomeRelease:
		effect, held = s.EffectPossible, before.Held && s.EffectPossible
	case store.OutcomeHold:
		held = true
	}
	generation := before.Generation
	if s.NewGeneration && before.EffectPossible {
		generation++
	}
	failure, nonRetryable := s.Failure, s.NonRetryable
	if s.Outcome == store.OutcomeHold {
		failure, nonRetryable = before.Failure, before.NonRetryable
	}
	require.Equal(k,
		[]any{status, effect, held, generation, failure, nonRetryable, s.Result, s.ResultSize, s.Tombstone},
		[]any{after.Status, after.EffectPossible, after.Held, after.Generation, after.Failure, after.NonRetryable, after.Result, after.ResultSize, after.Tombstone},
		"%+v", s)
	switch s.Outcome {
	case store.OutcomePend:
		require.True(k, after.Pending)
		k.requireLease(s.Lease, after)
	case store.OutcomeHold:
		k.requireLeaseOver(after)
	default:
		require.False(k, after.Pending)
		k.requireLeaseOver(after)
	}
}
