package activity_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/memstore"
)

var errForgetful = errors.New("dedupe: this store forgets: set its option Durable")

// forgetful is a store that supports one takeover policy.
type forgetful struct{ *memstore.Store }

func (forgetful) Supports(p store.TakeoverPolicy) error {
	if p != store.Reexecute {
		return errForgetful
	}
	return nil
}

type decorated struct{ store.Store }

func (d decorated) Unwrap() store.Store { return d.Store }

func TestTakeoverPolicyThatTheStoreDoesNotSupport(t *testing.T) {
	t.Parallel()
	memory, err := memstore.New(memstore.Options{})
	require.NoError(t, err)
	validate := func(p activity.Policy) error {
		return activity.Options{Store: forgetful{memory}, Policies: map[string]activity.Policy{"Charge": p}}.Validate()
	}

	t.Run("is refused by name, with what the store says", func(t *testing.T) {
		t.Parallel()
		err := validate(activity.Policy{Takeover: store.Refuse})
		require.ErrorIs(t, err, errForgetful)
		require.ErrorContains(t, err, `Options.Policies["Charge"].Takeover`)
	})
	t.Run("is refused behind a decorator too", func(t *testing.T) {
		t.Parallel()
		require.ErrorIs(t, activity.Options{
			Store: decorated{forgetful{memory}}, Policies: map[string]activity.Policy{"Charge": {Takeover: store.Refuse}},
		}.Validate(), errForgetful)
	})
	t.Run("is no matter for activities that are not deduplicated", func(t *testing.T) {
		t.Parallel()
		require.NoError(t, validate(activity.Policy{Off: true, Takeover: store.Refuse}))
	})
	t.Run("is not the default", func(t *testing.T) {
		t.Parallel()
		require.NoError(t, validate(activity.Policy{}))
	})
	t.Run("is supported by a store that does not say otherwise", func(t *testing.T) {
		t.Parallel()
		require.NoError(t, activity.Options{
			Store: memory, Policies: map[string]activity.Policy{"Charge": {Takeover: store.Refuse}},
		}.Validate())
	})
}
