package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

func requireInvalid(t *testing.T, err error, field string) {
	t.Helper()
	require.ErrorIs(t, err, store.ErrInvalidArgument)
	require.ErrorContains(t, err, field)
}

func TestReservationValidate(t *testing.T) {
	t.Parallel()

	t.Run("the least and the longest that is allowed is valid", func(t *testing.T) {
		t.Parallel()
		require.NoError(t, reservation(func(r *store.Reservation) {
			r.Key = strings.Repeat("k", store.MaxKeyBytes)
			r.Lease, r.Retention = time.Millisecond, time.Millisecond+1
		}).Validate())
		for _, p := range []store.TakeoverPolicy{store.Reexecute, store.Refuse, store.Verify} {
			require.NoError(t, reservation(func(r *store.Reservation) { r.Policy = p }).Validate())
		}
	})

	for field, changes := range map[string][]func(*store.Reservation){
		"Key": {
			func(r *store.Reservation) { r.Key = "" },
			func(r *store.Reservation) { r.Key = strings.Repeat("k", store.MaxKeyBytes+1) },
		},
		"Hashes": {
			func(r *store.Reservation) { r.Hashes = nil },
			func(r *store.Reservation) { r.Hashes = []string{"h1", ""} },
		},
		"Token": {func(r *store.Reservation) { r.Token = store.Token{} }},
		"Lease": {
			func(r *store.Reservation) { r.Lease = 0 },
			func(r *store.Reservation) { r.Lease = -time.Second },
			func(r *store.Reservation) { r.Lease = time.Millisecond - 1 },
		},
		"Retention": {
			func(r *store.Reservation) { r.Retention = r.Lease },
			func(r *store.Reservation) { r.Retention = 0 },
		},
		"Policy": {
			func(r *store.Reservation) { r.Policy = "" },
			func(r *store.Reservation) { r.Policy = "REFUSE" },
		},
	} {
		t.Run("a wrong "+field+" is named", func(t *testing.T) {
			t.Parallel()
			for _, change := range changes {
				requireInvalid(t, reservation(change).Validate(), field)
			}
		})
	}
}

func TestLeaseValidate(t *testing.T) {
	t.Parallel()
	good := store.Lease{Key: "k", Token: store.NewToken(), Duration: time.Millisecond}

	t.Run("a millisecond is enough", func(t *testing.T) {
		t.Parallel()
		require.NoError(t, good.Validate())
	})

	t.Run("a lease of nothing is no lease", func(t *testing.T) {
		t.Parallel()
		for _, d := range []time.Duration{0, -time.Hour, time.Microsecond} {
			requireInvalid(t, store.Lease{Key: "k", Token: good.Token, Duration: d}.Validate(), "Duration")
		}
		requireInvalid(t, store.Lease{Key: "k", Duration: time.Second}.Validate(), "Token")
	})
}

func TestSettlementValidate(t *testing.T) {
	t.Parallel()
	token := store.NewToken()

	t.Run("every outcome takes its own fields", func(t *testing.T) {
		t.Parallel()
		for _, s := range []store.Settlement{
			{Outcome: store.OutcomeComplete},
			{Outcome: store.OutcomeComplete, Result: []byte{}, ResultSize: 1},
			{Outcome: store.OutcomeComplete, Tombstone: store.TombstoneResultTooLarge, ResultSize: 1},
			{Outcome: store.OutcomeComplete, Tombstone: store.TombstonePurged},
			{Outcome: store.OutcomeFail},
			{Outcome: store.OutcomeFail, Failure: []byte("x"), NonRetryable: true, EffectPossible: true},
			{Outcome: store.OutcomeFail, NewGeneration: true},
			{Outcome: store.OutcomeRelease, EffectPossible: true},
			{Outcome: store.OutcomeRelease, NewGeneration: true},
			{Outcome: store.OutcomeHold},
			{Outcome: store.OutcomeHold, OwnLease: true},
			{Outcome: store.OutcomePend, Lease: time.Millisecond},
		} {
			s.Key, s.Token = "k", token
			require.NoError(t, s.Validate(), "%+v", s)
		}
	})

	t.Run("a field of another outcome is named, and so is the outcome", func(t *testing.T) {
		t.Parallel()
		for _, outcome := range []store.Outcome{store.OutcomeComplete, store.OutcomeFail, store.OutcomeRelease, store.OutcomeHold, store.OutcomePend} {
			wrong := map[string]store.Settlement{}
			if outcome != store.OutcomeComplete {
				wrong["Result"] = store.Settlement{Result: []byte{}}
				wrong["ResultSize"] = store.Settlement{ResultSize: 1}
				wrong["Tombstone"] = store.Settlement{Tombstone: store.TombstonePurged}
			}
			if outcome != store.OutcomeFail {
				wrong["Failure"] = store.Settlement{Failure: []byte{}}
				wrong["NonRetryable"] = store.Settlement{NonRetryable: true}
			}
			if outcome != store.OutcomeFail && outcome != store.OutcomeRelease {
				wrong["EffectPossible"] = store.Settlement{EffectPossible: true}
				wrong["NewGeneration"] = store.Settlement{NewGeneration: true}
			}
			if outcome != store.OutcomeHold {
				wrong["OwnLease"] = store.Settlement{OwnLease: true}
			}
			for field, s := range wrong {
				s.Key, s.Token, s.Outcome, s.Lease = "k", token, outcome, time.Second
				requireInvalid(t, s.Validate(), field)
				require.ErrorContains(t, s.Validate(), string(outcome))
			}
		}
	})

	t.Run("what contradicts itself is refused", func(t *testing.T) {
		t.Parallel()
		for field, s := range map[string]store.Settlement{
			"Outcome":       {Token: token},
			"under ended":   {Token: token, Outcome: "ended"},
			"Token":         {Outcome: store.OutcomeComplete},
			"Tombstone":     {Token: token, Outcome: store.OutcomeComplete, Tombstone: store.TombstonePurged, Result: []byte{}},
			"unknown Tomb":  {Token: token, Outcome: store.OutcomeComplete, Tombstone: "lost"},
			"NewGeneration": {Token: token, Outcome: store.OutcomeFail, EffectPossible: true, NewGeneration: true},
			"Lease":         {Token: token, Outcome: store.OutcomePend, Lease: time.Millisecond - 1},
		} {
			requireInvalid(t, s.Validate(), field)
		}
	})
}
