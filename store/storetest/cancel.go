package storetest

import (
	"context"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

func cancelTests() []named {
	return []named{
		{"a usable store passes its check", checkUsable},
		{"a cancelled context ends every method with its error", cancelled},
	}
}

func closeTests() []named {
	return []named{{"every method of a closed store says so", closed}}
}

// calls names every method of a store, called with arguments that are valid.
func (k *kit) calls(r store.Reservation) map[string]func(context.Context) error {
	seen := store.Record{Token: r.Token, Status: store.StatusInProgress}
	return map[string]func(context.Context) error{
		"Reserve": func(ctx context.Context) error {
			_, err := k.Store.Reserve(ctx, []store.Reservation{again(r)})
			return err
		},
		"Acquire": func(ctx context.Context) error {
			_, err := k.Store.Acquire(ctx, []store.Acquisition{acquisition(seen, again(r))})
			return err
		},
		"Renew": func(ctx context.Context) error {
			_, err := k.Store.Renew(ctx, []store.Lease{leaseOf(r)})
			return err
		},
		"Settle": func(ctx context.Context) error {
			_, err := k.Store.Settle(ctx, []store.Settlement{{Key: r.Key, Token: r.Token, Outcome: store.OutcomeComplete}})
			return err
		},
		"Get": func(ctx context.Context) error {
			_, err := k.Store.Get(ctx, r.Key)
			return err
		},
		"Evict": func(ctx context.Context) error {
			_, err := k.Store.Evict(ctx, 10)
			return err
		},
		"Check": k.Store.Check,
	}
}

func checkUsable(k *kit) { require.NoError(k, k.Store.Check(k.ctx)) }

func cancelled(k *kit) {
	ctx, cancel := context.WithCancel(k.ctx)
	cancel()
	r := k.reservation()
	k.insert(r)
	before := k.get(r)
	for name, call := range k.calls(r) {
		require.ErrorIs(k, call(ctx), context.Canceled, name)
	}
	k.requireUnchanged(before)
	for name, call := range k.calls(r) {
		require.NoError(k, call(k.ctx), name)
	}
}

func closed(k *kit) {
	if k.Close == nil {
		k.Skip("the harness cannot close the store")
	}
	r := k.reservation()
	k.insert(r)
	k.Close()
	for name, call := range k.calls(r) {
		require.ErrorIs(k, call(k.ctx), store.ErrClosed, name)
	}
}
