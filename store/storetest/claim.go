package storetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

func claimTests() []named {
	return []named{
		{"a new key is acquired", claimNew},
		{"a live record is waited for, by whoever asks", claimLive},
		{"a completed record is replayed with its bytes", claimReplay},
		{"another fingerprint is a conflict and writes nothing", claimConflict},
		{"a fingerprint of a retired secret is accepted", claimRetired},
		{"another lineage is refused, met or not looked at, as asked", claimOther},
		{"a dead owner's record is free when the lease is over, not when retention is", claimDead},
		{"an unknown outcome under Refuse stays unknown, and is held", claimRefuse},
		{"an owner that came back after its outcome was unknown settles it", claimComesBack},
		{"an unknown outcome under Verify is acquired to be verified", claimVerify},
		{"an execution without effect is run again under every policy", claimNoEffect},
		{"a held record is for an operator, or for a verifier", claimHeld},
		{"a pending record is pending until its lease is over", claimPending},
		{"a non-retryable failure is replayed within its invocation only", claimFailure},
		{"the provider key's generation reaches the next owner", claimGeneration},
		{"a lineage's first generation is a new record's, and that of one without an effect that was another's", claimFirstGeneration},
	}
}

func otherHash(r *store.Reservation) {
	r.Hashes, r.Invocation = []string{"v1:s1:bbbb"}, "run-2/5/1"
}

func otherInvocation(r *store.Reservation) { r.Invocation = "run-2/5/1" }

// requireVerdict requires the action and, where it is a refusal or a replay,
// that nothing was written but a hold.
func (k *kit) requireVerdict(action store.Action, r store.Reservation) store.Claimed {
	k.Helper()
	before := k.get(r)
	c := k.claim(r)
	require.Equal(k, action, c.Action, "%v, want %v", c.Action, action)
	if action == store.ActAcquire || action == store.ActVerify {
		require.Equal(k, store.Lease{Key: r.Key, Token: r.Token, Duration: r.Lease}, c.Lease)
		require.Equal(k, r.Token, k.get(r).Token)
		require.Equal(k, before.EffectPossible, c.EffectPossible())
		return c
	}
	require.Zero(k, c.Lease)
	if action == store.ActUnknown {
		require.True(k, k.get(r).Held)
		before.Held, before.UpdatedAt = true, k.get(r).UpdatedAt
	}
	k.requireUnchanged(before)
	return c
}

func claimNew(k *kit) {
	r := k.reservation()
	c := k.claim(r)
	require.Equal(k, store.ActAcquire, c.Action)
	require.False(k, c.EffectPossible())
	require.Equal(k, r.Token, k.get(r).Token)
}

func claimLive(k *kit) {
	r := k.reservation()
	k.insert(r)
	c := k.requireVerdict(store.ActWait, again(r))
	k.requireLease(lease, c.Found)
	k.requireVerdict(store.ActWait, again(r, otherInvocation))
	k.requireVerdict(store.ActConflict, again(r, otherHash))
}

func claimReplay(k *kit) {
	r := k.reservation()
	k.insert(r)
	k.apply(r, store.Settlement{Outcome: store.OutcomeComplete, Result: []byte{0, 0xff, 'a'}, ResultSize: 3})
	c := k.requireVerdict(store.ActReplay, again(r))
	require.Equal(k, []byte{0, 0xff, 'a'}, c.Found.Result)
	require.EqualValues(k, 3, c.Found.ResultSize)
}

func claimConflict(k *kit) {
	r := k.reservation()
	k.insert(r)
	k.apply(r, store.Settlement{Outcome: store.OutcomeComplete, Result: []byte("paid")})
	k.requireVerdict(store.ActConflict, again(r, otherHash))
	k.requireVerdict(store.ActReplay, again(r))
}

func claimRetired(k *kit) {
	r := k.reservation()
	k.insert(r)
	k.apply(r, store.Settlement{Outcome: store.OutcomeComplete})
	k.requireVerdict(store.ActReplay, again(r, otherInvocation, func(r *store.Reservation) {
		r.Hashes = []string{"v1:s2:cccc", "v1:s1:aaaa"}
	}))
}

func claimOther(k *kit) {
	r := k.reservation()
	k.insert(r)
	k.apply(r, store.Settlement{Outcome: store.OutcomeComplete, Result: []byte("paid")})
	for on, want := range map[store.OtherExecution]store.Verdict{
		store.RefuseOther: {Action: store.ActOther},
		store.ReplayOther: {Action: store.ActReplay, Other: true},
		store.AnyOther:    {Action: store.ActReplay},
	} {
		c := k.requireVerdict(want.Action, again(r, func(r *store.Reservation) {
			r.Lineage, r.Invocation, r.OnOther = "second-run", "run-9/5/1", on
		}))
		require.Equal(k, want, c.Verdict)
		require.Equal(k, "first-run", c.Found.Lineage)
	}
}

func claimDead(k *kit) {
	r := k.reservation()
	k.insert(r)
	k.Advance(lease - slack)
	k.requireVerdict(store.ActWait, again(r))
	k.Advance(2 * slack)
	k.requireVerdict(store.ActConflict, again(r, otherHash))
	c := k.requireVerdict(store.ActAcquire, again(r))
	require.True(k, c.EffectPossible())
}

func claimRefuse(k *kit) {
	r := k.reservation(policy(store.Refuse))
	k.insert(r)
	k.Advance(lease + slack)
	k.requireVerdict(store.ActConflict, again(r, otherHash))
	require.False(k, k.get(r).Held)
	k.requireVerdict(store.ActUnknown, again(r))
	k.requireVerdict(store.ActUnknown, again(r, policy(store.Reexecute)))
	k.requireVerdict(store.ActConflict, again(r, otherHash))
	k.Advance(retention)
	k.requireVerdict(store.ActUnknown, again(r))
}

func claimComesBack(k *kit) {
	r := k.reservation(policy(store.Refuse))
	k.insert(r)
	k.Advance(lease + slack)
	k.requireVerdict(store.ActUnknown, again(r))
	require.Equal(k, store.LeaseRenewed, k.renew(r))
	k.requireVerdict(store.ActWait, again(r))
	k.apply(r, store.Settlement{Outcome: store.OutcomeComplete, Result: []byte("paid")})
	k.requireVerdict(store.ActReplay, again(r))
}

func claimVerify(k *kit) {
	r := k.reservation(policy(store.Verify))
	k.insert(r)
	k.Advance(lease + slack)
	c := k.requireVerdict(store.ActVerify, again(r))
	require.True(k, c.EffectPossible())
	require.Equal(k, r.Token, c.Found.Token)
}

func claimNoEffect(k *kit) {
	for _, p := range []store.TakeoverPolicy{store.Reexecute, store.Refuse, store.Verify} {
		for _, s := range []store.Settlement{{Outcome: store.OutcomeRelease}, {Outcome: store.OutcomeFail, Failure: []byte("declined")}} {
			r := k.reservation(policy(p))
			k.insert(r)
			k.apply(r, s)
			require.False(k, k.requireVerdict(store.ActAcquire, again(r, otherHash)).EffectPossible())
		}
	}
}

func claimHeld(k *kit) {
	for p, action := range map[store.TakeoverPolicy]store.Action{
		store.Reexecute: store.ActUnknown, store.Refuse: store.ActUnknown, store.Verify: store.ActVerify,
	} {
		r := k.reservation(policy(p))
		k.insert(r)
		k.Advance(lease + slack)
		k.apply(r, store.Settlement{Outcome: store.OutcomeHold})
		c := k.requireVerdict(action, again(r))
		require.True(k, c.Found.Held)
	}
}

func claimPending(k *kit) {
	r := k.reservation()
	k.insert(r)
	k.apply(r, store.Settlement{Outcome: store.OutcomePend, Lease: time.Hour})
	k.Advance(time.Hour - slack)
	k.requireVerdict(store.ActPending, again(r))
	k.Advance(2 * slack)
	k.requireVerdict(store.ActAcquire, again(r))
}

func claimFailure(k *kit) {
	r := k.reservation()
	k.insert(r)
	k.apply(r, store.Settlement{Outcome: store.OutcomeFail, Failure: []byte("declined"), NonRetryable: true})
	c := k.requireVerdict(store.ActReplayFailure, again(r))
	require.Equal(k, []byte("declined"), c.Found.Failure)
	k.requireVerdict(store.ActAcquire, again(r, otherInvocation))
}

func claimGeneration(k *kit) {
	r := k.reservation()
	k.insert(r)
	k.apply(r, store.Settlement{Outcome: store.OutcomeRelease, NewGeneration: true})
	require.Equal(k, 1, k.requireVerdict(store.ActAcquire, again(r)).Generation)
	require.Equal(k, 1, k.requireVerdict(store.ActWait, again(r)).Generation)
}

func claimFirstGeneration(k *kit) {
	ofLineage := func(lineage string, generation int) func(*store.Reservation) {
		return func(r *store.Reservation) {
			r.Lineage, r.Generation, r.OnOther = lineage, generation, store.ReplayOther
		}
	}
	r := k.reservation(ofLineage("first", 70))
	k.insert(r)
	require.Equal(k, 70, k.get(r).Generation)
	k.apply(r, store.Settlement{Outcome: store.OutcomeRelease, NewGeneration: true})

	r = again(r)
	require.Equal(k, 71, k.requireVerdict(store.ActAcquire, r).Generation, "its own lineage")
	k.apply(r, store.Settlement{Outcome: store.OutcomeRelease})

	r = again(r, ofLineage("another", 0))
	require.Equal(k, 71, k.requireVerdict(store.ActAcquire, r).Generation, "the key is the operation")
	k.apply(r, store.Settlement{Outcome: store.OutcomeRelease})

	r = again(r, ofLineage("a third", 900))
	require.Equal(k, 900, k.requireVerdict(store.ActAcquire, r).Generation)
	require.Equal(k, 900, k.get(r).Generation)
	k.apply(r, store.Settlement{Outcome: store.OutcomeRelease, EffectPossible: true})

	r = again(r, ofLineage("a fourth", 40))
	require.Equal(k, 900, k.requireVerdict(store.ActAcquire, r).Generation, "the provider may know it")
}
