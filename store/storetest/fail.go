package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

func failTests() []named {
	return []named{
		{"a failed record has its failure and no lease", failRecords},
		{"the settlement says whether an effect is possible", failEffect},
		{"a failure without a possible effect ends a hold, another keeps it", failHeld},
		{"a new generation moves once for each acquisition", failGeneration},
		{"a pending call can fail", failPending},
	}
}

func releaseTests() []named {
	return []named{
		{"a released record is in progress without a lease", releaseEnds},
		{"a release without a possible effect ends a hold, another keeps it", releaseHeld},
		{"a new generation moves once for each acquisition", releaseGeneration},
		{"a new generation survives later acquisitions", generationSurvives},
		{"what was given up stays free when the clock is set back", releaseSetBack},
	}
}

func failRecords(k *kit) {
	for _, nonRetryable := range []bool{false, true} {
		r := k.reservation()
		k.insert(r)
		before := k.get(r)
		k.apply(r, store.Settlement{Outcome: store.OutcomeFail, Failure: []byte("boom"), NonRetryable: nonRetryable})
		rec := k.get(r)
		require.Equal(k, store.StatusFailed, rec.Status)
		require.Equal(k, []byte("boom"), rec.Failure)
		require.Equal(k, nonRetryable, rec.NonRetryable)
		require.Nil(k, rec.Result)
		require.Zero(k, rec.Generation)
		k.requireLeaseOver(rec)
		k.requireIdentity(before, rec)
	}
}

func failEffect(k *kit) {
	for _, possible := range []bool{false, true} {
		r := k.reservation()
		k.insert(r)
		k.apply(r, store.Settlement{Outcome: store.OutcomeFail, Failure: []byte("boom"), EffectPossible: possible})
		require.Equal(k, possible, k.get(r).EffectPossible)
	}
}

// requireHoldKept holds a record, settles it and requires that it is held
// afterwards only if an effect is still possible.
func (k *kit) requireHoldKept(s store.Settlement) {
	k.Helper()
	for _, possible := range []bool{false, true} {
		r := k.reservation(policy(store.Refuse))
		k.insert(r)
		k.Advance(lease + slack)
		k.apply(r, store.Settlement{Outcome: store.OutcomeHold})
		s.EffectPossible = possible
		k.apply(r, s)
		require.Equal(k, possible, k.get(r).Held)
		require.Equal(k, possible, k.get(r).EffectPossible)
	}
}

func failHeld(k *kit) {
	k.requireHoldKept(store.Settlement{Outcome: store.OutcomeFail, Failure: []byte("boom")})
}

// requireGeneration settles three acquisitions twice each with a new generation.
func (k *kit) requireGeneration(s store.Settlement) {
	k.Helper()
	r := k.reservation()
	k.insert(r)
	for generation := 1; generation <= 3; generation++ {
		k.apply(r, s)
		require.Equal(k, generation, k.get(r).Generation)
		k.apply(r, s)
		require.Equal(k, generation, k.get(r).Generation, "the repetition of a settlement")
		next := again(r)
		require.Equal(k, store.Acquired{OK: true, Generation: generation}, k.acquire(k.get(r), next))
		r = next
	}
}

func failGeneration(k *kit) {
	k.requireGeneration(store.Settlement{Outcome: store.OutcomeFail, Failure: []byte("declined"), NewGeneration: true})
}

func failPending(k *kit) {
	r := k.reservation()
	k.insert(r)
	k.apply(r, store.Settlement{Outcome: store.OutcomePend, Lease: lease})
	k.apply(r, store.Settlement{Outcome: store.OutcomeFail, Failure: []byte("boom")})
	rec := k.get(r)
	require.Equal(k, store.StatusFailed, rec.Status)
	require.False(k, rec.Pending)
}

func releaseEnds(k *kit) {
	for _, possible := range []bool{false, true} {
		r := k.reservation()
		k.insert(r)
		before := k.get(r)
		k.apply(r, store.Settlement{Outcome: store.OutcomeRelease, EffectPossible: possible})
		rec := k.get(r)
		require.Equal(k, store.StatusInProgress, rec.Status)
		require.Equal(k, possible, rec.EffectPossible)
		require.False(k, rec.LeaseLive())
		require.Zero(k, rec.Generation)
		k.requireLeaseOver(rec)
		k.requireIdentity(before, rec)
	}
}

func releaseHeld(k *kit) { k.requireHoldKept(store.Settlement{Outcome: store.OutcomeRelease}) }

func releaseGeneration(k *kit) {
	k.requireGeneration(store.Settlement{Outcome: store.OutcomeRelease, NewGeneration: true})
}

func generationSurvives(k *kit) {
	r := k.reservation()
	k.insert(r)
	k.apply(r, store.Settlement{Outcome: store.OutcomeRelease, NewGeneration: true})
	for _, s := range []store.Settlement{
		{Outcome: store.OutcomeRelease, EffectPossible: true},
		{Outcome: store.OutcomeFail, Failure: []byte("boom"), EffectPossible: true},
		{Outcome: store.OutcomeRelease},
		{Outcome: store.OutcomeComplete, Result: []byte("paid")},
	} {
		r = again(r)
		require.Equal(k, store.Acquired{OK: true, Generation: 1}, k.acquire(k.get(r), r))
		k.apply(r, s)
		require.Equal(k, 1, k.get(r).Generation)
	}
}

func releaseSetBack(k *kit) {
	for _, s := range []store.Settlement{
		{Outcome: store.OutcomeRelease},
		{Outcome: store.OutcomeRelease, EffectPossible: true},
		{Outcome: store.OutcomeHold, OwnLease: true},
	} {
		r := k.reservation()
		k.insert(r)
		k.apply(r, s)
		k.Advance(-lease / 2)
		rec := k.get(r)
		k.requireLeaseOver(rec)
		require.Equal(k, store.LeaseLost, k.renew(r))
		require.True(k, k.acquire(rec, again(r)).OK)
		k.Advance(lease / 2)
	}
}
