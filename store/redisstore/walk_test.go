package redisstore_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// walk takes one key through a life: claimed, in flight, in conflict, failed,
// claimed again, renewed, completed, completed again, replayed.
func walk(ctx context.Context, s store.Store, key string, result []byte) error {
	first := reservation(key)
	var errs []error
	expect := func(what string, ok bool, err error) {
		if err != nil || !ok {
			errs = append(errs, fmt.Errorf("%s: %s: %v", key, what, err)) //nolint:errorlint // nil when the answer is wrong
		}
	}
	claim := func(want store.Action, r store.Reservation) store.Claimed {
		c, err := store.Claim(ctx, s, r)
		expect("claim: want "+string(want)+", got "+string(c.Action), c.Action == want, err)
		return c
	}
	end := func(t store.Settlement) {
		got, err := s.Settle(ctx, []store.Settlement{t})
		expect("settle", err == nil && got[0] == store.SettledApplied, err)
	}
	claim(store.ActAcquire, first)
	other := again(first)
	other.Hashes, other.Invocation = []string{"v1:s1:bbbb"}, "run-1/6/1"
	claim(store.ActConflict, other)
	claim(store.ActWait, again(first))
	failed := settlement(first, store.Settlement{Outcome: store.OutcomeFail, Failure: result})
	end(failed)
	end(failed)
	second := again(first)
	claim(store.ActAcquire, second)
	renewed, err := s.Renew(ctx, []store.Lease{leaseOf(second), leaseOf(reservation(key + "-absent"))})
	expect("renew", err == nil && renewed[0] == store.LeaseRenewed && renewed[1] == store.LeaseLost, err)
	completed := settlement(second, store.Settlement{Outcome: store.OutcomeComplete, Result: result, ResultSize: int64(len(result))})
	end(completed)
	end(completed)
	claim(store.ActConflict, other)
	replay := claim(store.ActReplay, again(first))
	same := string(replay.Found.Result) == string(result) && (replay.Found.Result == nil) == (result == nil)
	expect("the replayed result", same, nil)
	return errors.Join(errs...)
}
