package redisstore

import (
	"context"
	"slices"
	"strconv"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// Renew extends leases. It never answers [store.LeaseLocked]: scripts wait for nobody.
func (s *Store) Renew(ctx context.Context, leases []store.Lease) ([]store.Renewal, error) {
	return carryOut(ctx, s, transition[store.Lease, store.Renewal]{
		name: "renew", script: renewScript,
		key:  func(l store.Lease) (string, error) { return l.Key, l.Validate() },
		args: func(l store.Lease) []any { return []any{l.Token.String(), microseconds(l.Duration)} },
		read: func(_ store.Lease, reply any) (store.Renewal, error) {
			return answerOf(reply, store.LeaseRenewed, store.LeaseLost)
		},
	}, leases)
}

// Settle ends executions, also while Redis is at maxmemory.
func (s *Store) Settle(ctx context.Context, settlements []store.Settlement) ([]store.Settled, error) {
	return carryOut(ctx, s, transition[store.Settlement, store.Settled]{
		name: "settle", script: settleScript,
		key:  func(t store.Settlement) (string, error) { return t.Key, t.Validate() },
		args: settlementArgs,
		read: func(_ store.Settlement, reply any) (store.Settled, error) {
			return answerOf(reply, store.SettledApplied, store.SettledStale, store.SettledMissing)
		},
	}, settlements)
}

func settlementArgs(t store.Settlement) []any {
	return []any{
		t.Token.String(), string(t.Outcome), microseconds(t.Lease),
		flag(t.EffectPossible), flag(t.NewGeneration), flag(t.OwnLease), flag(t.NonRetryable),
		strconv.FormatInt(t.ResultSize, 10), string(t.Tombstone),
		flag(t.Result != nil), string(t.Result),
		flag(t.Failure != nil), string(t.Failure),
	}
}

// answerOf reads an answer that is one of a few.
func answerOf[R ~string](reply any, known ...R) (R, error) {
	text, _ := reply.(string)
	if !slices.Contains(known, R(text)) {
		return "", errAnswer
	}
	return R(text), nil
}
