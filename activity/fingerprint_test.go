package activity_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// order knows that its note does not matter.
type order struct{ ID, Note string }

func (o order) DedupeFingerprint() ([]byte, error) {
	switch o.ID {
	case "":
		return nil, errors.New("an order without ID")
	case "panic":
		panic("broken")
	}
	return []byte(o.ID), nil
}

// parcel has the method on its pointer.
type parcel struct{ ID, Note string }

func (p *parcel) DedupeFingerprint() ([]byte, error) { return []byte(p.ID), nil }

type (
	// rush is what order is, and lends its method to those that embed it.
	rush struct{ order }
	// gift has other fields beside it.
	gift struct {
		order
		To string
	}
	// present knows them.
	present struct {
		gift
		From string
	}
)

func (p present) DedupeFingerprint() ([]byte, error) { return []byte(p.ID + p.To + p.From), nil }

func TestFingerprinter(t *testing.T) {
	t.Parallel()
	byValue := func(context.Context, order) error { return nil }
	byPointer := func(context.Context, *order) error { return nil }
	parcels := func(context.Context, parcel) error { return nil }

	t.Run("the type of an argument tells two of its values apart", func(t *testing.T) {
		t.Parallel()
		for name, c := range map[string]struct{ body, first, same, other any }{
			"by value":          {byValue, order{"7", "a"}, order{"7", "b"}, order{"8", "a"}},
			"by pointer":        {byPointer, &order{"7", "a"}, &order{"7", "b"}, &order{"8", "a"}},
			"method on pointer": {parcels, parcel{"7", "a"}, parcel{"7", "b"}, parcel{"8", "a"}},
		} {
			b := setup(t)
			for _, arg := range []any{c.first, c.same} {
				_, err := b.run(1, c.body, arg)
				require.NoError(t, err, name)
			}
			require.Equal(t, map[string]int64{"executed": 1, "replayed": 1}, b.outcomes(), name)
			_, err := b.run(1, c.body, c.other)
			requireErrType(t, err, activity.ErrTypeConflict)
		}
	})

	t.Run("an embedded field speaks for a struct that adds nothing", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		for _, arg := range []rush{{order{"7", "a"}}, {order{"7", "b"}}} {
			_, err := b.run(1, func(context.Context, rush) error { return nil }, arg)
			require.NoError(t, err)
		}
	})

	t.Run("an embedded field does not speak for fields beside it", func(t *testing.T) {
		t.Parallel()
		for name, c := range map[string]struct{ body, arg any }{
			"by value":   {func(context.Context, gift) error { return nil }, gift{order{ID: "7"}, "alice"}},
			"by pointer": {func(context.Context, *gift) error { return nil }, &gift{order{ID: "7"}, "alice"}},
		} {
			b := setup(t)
			_, err := b.run(1, c.body, c.arg)
			app := requireErrType(t, err, activity.ErrTypeNoFingerprint)
			require.Contains(t, app.Message(), "activity_test.gift", name)
			require.Contains(t, app.Message(), "a method of its own", name)
		}
	})

	t.Run("a method of the struct's own comes before an embedded one", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		body := func(context.Context, present) error { return nil }
		_, err := b.run(1, body, present{gift{order{ID: "7"}, "alice"}, "carol"})
		require.NoError(t, err)
		_, err = b.run(1, body, present{gift{order{ID: "7"}, "bob"}, "carol"})
		requireErrType(t, err, activity.ErrTypeConflict)
	})

	t.Run("nil is nil, and its method is not called", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		for range 2 {
			_, err := b.run(1, byPointer, (*order)(nil))
			require.NoError(t, err)
		}
		_, err := b.run(1, byPointer, &order{ID: "7"})
		requireErrType(t, err, activity.ErrTypeConflict)
	})

	t.Run("the policy's function comes first", func(t *testing.T) {
		t.Parallel()
		b := setup(t, withPolicy(activity.Policy{Fingerprint: func(args []any) ([]byte, error) {
			return []byte(args[0].(order).Note), nil
		}}))
		for _, arg := range []order{{"7", "a"}, {"8", "a"}} {
			_, err := b.run(1, byValue, arg)
			require.NoError(t, err)
		}
		_, err := b.run(1, byValue, order{"7", "b"})
		requireErrType(t, err, activity.ErrTypeConflict)
	})

	t.Run("an error and a panic refuse the call before the body", func(t *testing.T) {
		t.Parallel()
		for id, want := range map[string]string{"": "an order without ID", "panic": "broken"} {
			b := setup(t)
			_, err := b.run(1, byValue, order{ID: id})
			app := requireErrType(t, err, activity.ErrTypeNoFingerprint)
			require.Contains(t, app.Message(), want)
			require.Equal(t, map[string]int64{"no_fingerprint": 1}, b.outcomes())
		}
	})
}

// meeting is a record that a call finds, made by an earlier one.
type meeting struct {
	name       string
	protected  bool // there is an outcome to protect
	policy     store.TakeoverPolicy
	lineage    string
	settlement store.Settlement // zero: the owner is at work
}

var meetings = []meeting{
	{"completed", true, store.Reexecute, "run-1", store.Settlement{Outcome: store.OutcomeComplete, Result: []byte{}}},
	{"completed, result too large", true, store.Reexecute, "run-1", store.Settlement{Outcome: store.OutcomeComplete, Tombstone: store.TombstoneResultTooLarge, ResultSize: 9}},
	{"completed, purged", true, store.Reexecute, "run-1", store.Settlement{Outcome: store.OutcomeComplete, Tombstone: store.TombstonePurged}},
	{"completed by another execution, to be replayed", true, store.Reexecute, "run-9", store.Settlement{Outcome: store.OutcomeComplete, Result: []byte{}}},
	{"live", true, store.Reexecute, "run-1", store.Settlement{}},
	{"live, under Verify", true, store.Verify, "run-1", store.Settlement{}},
	{"pending", true, store.Reexecute, "run-1", store.Settlement{Outcome: store.OutcomePend, Lease: time.Minute}},
	{"held", true, store.Refuse, "run-1", store.Settlement{Outcome: store.OutcomeHold, OwnLease: true}},
	{"held, to be verified", true, store.Verify, "run-1", store.Settlement{Outcome: store.OutcomeHold, OwnLease: true}},
	{"abandoned, under Refuse", true, store.Refuse, "run-1", store.Settlement{Outcome: store.OutcomeRelease, EffectPossible: true}},
	{"abandoned, to be verified", true, store.Verify, "run-1", store.Settlement{Outcome: store.OutcomeRelease, EffectPossible: true}},
	{"failed, under Refuse", true, store.Refuse, "run-1", store.Settlement{Outcome: store.OutcomeFail, EffectPossible: true, Failure: []byte("x")}},
	{"failed, to be verified", true, store.Verify, "run-1", store.Settlement{Outcome: store.OutcomeFail, EffectPossible: true, Failure: []byte("x")}},
	{"abandoned, to be run again", true, store.Reexecute, "run-1", store.Settlement{Outcome: store.OutcomeRelease, EffectPossible: true}},
	{"abandoned before it began", false, store.Refuse, "run-1", store.Settlement{Outcome: store.OutcomeRelease}},
	{"failed, to be run again", true, store.Reexecute, "run-1", store.Settlement{Outcome: store.OutcomeFail, EffectPossible: true, Failure: []byte("x")}},
	{"failed for good in another scheduling", false, store.Refuse, "run-1", store.Settlement{Outcome: store.OutcomeFail, NonRetryable: true, Failure: []byte("x")}},
}

// leave makes the record, with a fingerprint.
func (m meeting) leave(t *testing.T, b *bundle, hash string) {
	t.Helper()
	r := store.Reservation{
		Key: "w/default-test-namespace/" + workflowID + "/0/Charge/1", Hashes: []string{hash}, Token: store.NewToken(),
		Lease: time.Minute, Retention: time.Hour, Policy: m.policy,
		Origin: store.Origin{Lineage: m.lineage, Invocation: "run-1/other/1", RunID: "run-1"},
	}
	_, err := store.Claim(t.Context(), b.store, r)
	require.NoError(t, err)
	if m.settlement.Outcome == "" {
		return
	}
	m.settlement.Key, m.settlement.Token = r.Key, r.Token
	settled, err := b.store.Settle(t.Context(), []store.Settlement{m.settlement})
	require.NoError(t, err)
	require.Equal(t, store.SettledApplied, settled[0])
}

// Every way to a record that another call has left passes the fingerprint.
func TestEveryPathComparesFingerprints(t *testing.T) {
	t.Parallel()
	fingerprints := map[string]string{
		"v1::" + "00ff":        activity.ErrTypeConflict,
		"v1:2019:" + "00ff":    activity.ErrTypeFingerprintUnknown,
		"v9:2026:sha3-" + "00": activity.ErrTypeFingerprintUnknown,
		"garbage":              activity.ErrTypeFingerprintUnknown,
	}
	for _, m := range meetings {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			for hash, want := range fingerprints {
				asked, runs := 0, 0
				b := setup(t, withPolicy(activity.Policy{
					OnOtherExecution: store.ReplayOther, Takeover: store.Verify,
					Verify: func(context.Context, activity.VerifyRequest) (activity.Verification, error) {
						asked++
						return activity.Done("verified"), nil
					},
				}))
				m.leave(t, b, hash)
				before := b.record("1")
				_, err := b.run(1, counted(&runs), "10 EUR")
				if !m.protected {
					require.NoError(t, err, hash)
					require.Equal(t, 1, runs, hash)
					require.NotEqual(t, hash, b.record("1").Hash)
					continue
				}
				app := requireErrType(t, err, want)
				require.Equal(t, want == activity.ErrTypeConflict, app.NonRetryable(), "what cannot be compared may be by the next worker")
				require.Contains(t, app.Message(), hash)
				require.Contains(t, app.Message(), before.Key)
				require.Zero(t, runs+asked, hash)
				require.Equal(t, before, b.record("1"))
			}
		})
	}
}

// A body whose record was taken over meanwhile meets what its successor has left.
func TestSupersededComparesFingerprints(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sameRequest bool
		check       func(*testing.T, string, error)
	}{
		"by the same request, it answers the successor's result": {true, func(t *testing.T, got string, err error) {
			t.Helper()
			require.NoError(t, err)
			require.Equal(t, "charged by the successor", got)
		}},
		"by another request, it is refused": {false, func(t *testing.T, _ string, err error) {
			t.Helper()
			requireErrType(t, err, activity.ErrTypeConflict)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			v, err := b.run(1, func(ctx context.Context, _ string) (string, error) {
				mine := b.record("1")
				_, err := b.store.Settle(ctx, []store.Settlement{{Key: mine.Key, Token: mine.Token, Outcome: store.OutcomeRelease, EffectPossible: c.sameRequest}})
				require.NoError(t, err)
				hash := "v1::00ff"
				if c.sameRequest {
					hash = mine.Hash
				}
				other := setup(t)
				payloads, err := other.run(1, counted(new(int)), "by the successor")
				require.NoError(t, err)
				require.True(t, payloads.HasValue())
				r := store.Reservation{Key: mine.Key, Hashes: []string{hash}, Token: store.NewToken(), Lease: time.Minute,
					Retention: time.Hour, Policy: store.Reexecute, Origin: store.Origin{Lineage: "run-1", Invocation: "other", RunID: "run-1"}}
				_, err = store.Claim(ctx, b.store, r)
				require.NoError(t, err)
				_, err = b.store.Settle(ctx, []store.Settlement{{Key: r.Key, Token: r.Token, Outcome: store.OutcomeComplete, Result: other.record("1").Result}})
				require.NoError(t, err)
				return "charged by the first", nil
			}, "10 EUR")
			got := ""
			if err == nil {
				require.NoError(t, v.Get(&got))
			}
			c.check(t, got, err)
		})
	}
}

// Records outlive workers: another form of the digest makes a conflict of every call
// whose record is there.
func TestTheFormOfFingerprintsStays(t *testing.T) {
	t.Parallel()
	secret := activity.Secret{ID: "s1", Key: []byte("0123456789abcdef")}
	require.Equal(t, []string{
		"v1:s1:fd5976a315949f349d970a5a0ee1dfa103c57d39eedfc334712b8e0930bfa4fc",
		"v1::fbca09718d2c0615ad037023098f1580cf53a234e4b0f3bee97a9c0da599a461",
	}, activity.Fingerprints([]activity.Secret{secret}, "k", []byte("form")))
}

// secret shows nobody its account, and a decoder takes it for one that hides nothing:
// the workflow side's digest of two of them is the same.
type secret struct{ account string }

func (secret) MarshalText() ([]byte, error)  { return []byte("***"), nil }
func (*secret) UnmarshalText(_ []byte) error { return nil }

// signed has a fingerprint of its own.
type signed struct{ secret }

func (s signed) DedupeFingerprint() ([]byte, error) { return []byte(s.account), nil }

type paying func(context.Context, any) (string, error)

func (p paying) Pay(ctx context.Context, in any) (string, error) { return p(ctx, in) }

func TestALocalActivitysOwnFingerprintIsCompared(t *testing.T) {
	t.Parallel()
	account := func(args []any) ([]byte, error) { return []byte(args[0].(secret).account), nil }
	for name, c := range map[string]struct {
		policy activity.Policy
		arg    func(account string) any
	}{
		"of its policy":   {activity.Policy{Fingerprint: account}, func(a string) any { return secret{a} }},
		"of its argument": {activity.Policy{}, func(a string) any { return signed{secret{a}} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, f := setup(t, withPolicy(c.policy)), call(1)
			f.Arguments = "equal"
			pay := paying(func(context.Context, any) (string, error) { return "paid", nil }).Pay
			_, err := b.envWith(&f).ExecuteLocalActivity(pay, c.arg("alice"))
			require.NoError(t, err)
			_, err = b.envWith(&f).ExecuteLocalActivity(pay, c.arg("bob"))
			requireErrType(t, err, activity.ErrTypeConflict)
		})
	}
}

// Their types may have one name, and their arguments be equal.
func TestLocalFunctionsUnderOneBusinessKeyAreCompared(t *testing.T) {
	t.Parallel()
	b, runs := setup(t), 0
	claim := func(function string) error {
		f := call(1)
		f.BusinessKey, f.Function = "order-7", function
		_, err := b.envWith(&f).ExecuteLocalActivity(charging(counted(&runs)).Charge, "bob")
		return err
	}
	require.NoError(t, claim("example.com/stripe.Send"))
	require.NoError(t, claim("example.com/stripe.Send"))
	requireErrType(t, claim("example.com/mail.Send"), activity.ErrTypeConflict)
	requireErrType(t, claim(""), activity.ErrTypeConflict)
	require.Equal(t, 1, runs)
}
