package command_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	dedupe "github.com/seed5aa7bdf6/temporal-dedupe"
	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/cmd/dedupe/internal/command"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// effectOf is an effect inside a call, as dedupe.Do names it.
func effectOf(r store.Reservation, name string) store.Reservation {
	r.Key, r.Token = "wd"+r.Key[len("w"):]+"/"+name, store.NewToken()
	return r
}

func TestEffectsAreFoundWithTheirWorkflow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	call := b.hold(reservation("order-42", "1"))
	charge := b.hold(effectOf(call, "charge"))
	mail := b.completed(effectOf(call, "mail"), payload("json/plain", `{"to":"ann"}`))
	b.hold(effectOf(reservation("order-43", "1"), "charge"))

	for _, args := range [][]string{
		{"records", "find", "--workflow", "order-42", "--activity", "ChargePayment"},
		{"records", "list", "--workflow", "order-42"},
	} {
		var keys []string
		for _, e := range decode[[]listed](t, b.run(command.ExitOK, append(args, "-o", "json")...).out) {
			keys = append(keys, e.Key)
		}
		require.ElementsMatch(t, []string{call.Key, charge.Key, mail.Key}, keys, args)
	}
	b.run(command.ExitOK, "records", "purge", "--workflow", "order-42", "--status", "completed", "--reason", "erasure", "--yes")
	require.Equal(t, store.TombstonePurged, b.get(mail.Key).Tombstone)
}

// Who asks the provider for the activity's key hears that there was no such charge.
func TestShowNamesTheKeysThatTheProviderKnows(t *testing.T) {
	t.Parallel()
	b := setup(t)
	call := b.hold(reservation("order-42", "1"))
	alone := b.hold(reservation("order-42", "10"))
	charge := b.hold(effectOf(call, "charge"))
	b.completed(effectOf(call, "mail"))
	key := activity.RecordProviderKey(charge.Key, 0)

	got := b.run(command.ExitOK, "records", "show", call.Key).out
	require.Contains(t, got, "what dedupe.Key gave outside of dedupe.Do:")
	require.Contains(t, got, "2, below: what was sent within dedupe.Do, the provider knows by their keys")
	require.Regexp(t, `(?m)^[0-9a-f]{12}  held +`+string(key)+`  `+charge.Key+`\n`, got)
	require.Regexp(t, `(?m)^[0-9a-f]{12}  completed  [0-9a-f]{64}  .*/mail$`, got)

	got = b.run(command.ExitOK, "records", "show", charge.Key).out
	require.Contains(t, got, string(key)+", what dedupe.Key gave within this effect:")
	require.NotContains(t, got, "effects ")
	require.NotContains(t, b.run(command.ExitOK, "records", "show", alone.Key).out, "effects ")

	type withEffects struct {
		Effects []struct {
			Key, State  string
			ProviderKey string `json:"provider_key"`
		}
		MoreEffects bool `json:"more_effects"`
	}
	in := decode[withEffects](t, b.run(command.ExitOK, "records", "show", call.Key, "-o", "json").out)
	require.Len(t, in.Effects, 2)
	require.Equal(t, charge.Key, in.Effects[0].Key)
	require.EqualValues(t, key, in.Effects[0].ProviderKey)
	require.False(t, in.MoreEffects)

	for i := range 100 {
		b.insert(effectOf(alone, fmt.Sprintf("e%d", i+1)))
	}
	require.False(t, decode[withEffects](t, b.run(command.ExitOK, "records", "show", alone.Key, "-o", "json").out).MoreEffects)
	b.insert(effectOf(alone, "e101"))
	require.True(t, decode[withEffects](t, b.run(command.ExitOK, "records", "show", alone.Key, "-o", "json").out).MoreEffects)
	require.Contains(t, b.run(command.ExitOK, "records", "show", alone.Key).out, "more than 100, below")
}

// What is shown is what the body has sent.
func TestShowNamesTheKeyThatAnEffectHasSent(t *testing.T) {
	t.Parallel()
	sent := make(chan dedupe.ProviderKey, 2)
	s := openShop(t, func(ctx context.Context, _ int) error {
		sent <- dedupe.Key(ctx)
		_, err := dedupe.Do(ctx, "charge", func(ctx context.Context) (receipt, error) {
			sent <- dedupe.Key(ctx)
			return receipt{}, errors.New("timeout talking to the provider")
		})
		return err
	})
	s.work()
	id := "order-" + s.id
	s.held(id)
	outside, within := <-sent, <-sent
	got := s.run(command.ExitOK, "records", "show", keyOf(id)).out
	require.Contains(t, got, string(outside)+", what dedupe.Key gave outside of dedupe.Do:")
	require.Regexp(t, `(?m)^[0-9a-f]{12}  failed, effect possible  `+string(within)+`  wd/default/`+id+`/0/ChargePayment/1/charge$`, got)
	require.Contains(t, s.run(command.ExitOK, "records", "show", "wd"+keyOf(id)[1:]+"/charge").out, string(within)+", what dedupe.Key gave within this effect:")
}
