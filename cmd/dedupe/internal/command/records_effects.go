package command

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// maxEffects is how many effects of one activity are shown: more than people read, and
// more than an activity should make.
const maxEffects = 100

// effectsOf are the records of the effects that an activity has made (dedupe.Do), by
// the key of its own record.
func effectsOf(ctx context.Context, a store.Admin, key string) (effects []store.Entry, more bool, err error) {
	ranges := activity.EffectKeys(key)
	if len(ranges) == 0 { // to the store, no ranges are all keys
		return nil, false, nil
	}
	effects, err = a.List(ctx, store.Query{Ranges: ranges, Limit: maxEffects + 1})
	return effects[:min(len(effects), maxEffects)], len(effects) > maxEffects, err
}

// whereKeyIs says where in the body dedupe.Key gave a record's provider key. Whoever asks
// the provider for another one hears that there was no such call.
func whereKeyIs(key string) string {
	if activity.IsEffectKey(key) {
		return "within this effect"
	}
	return "outside of dedupe.Do"
}

func countEffects(s shown) string {
	if s.MoreEffects {
		return fmt.Sprintf("more than %d", len(s.Effects))
	}
	return fmt.Sprint(len(s.Effects))
}

// printEffects writes a table of effects, whose provider keys are what to ask the
// provider for.
func printEffects(out io.Writer, effects []store.Entry) error {
	if len(effects) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "MARK\tSTATE\tPROVIDER KEY\tEFFECT")
	for _, e := range effects {
		_, _ = fmt.Fprintln(table, strings.Join([]string{
			e.Seen().Mark(), state(e), string(activity.RecordProviderKey(e.Key, e.Generation)), plain(e.Key),
		}, "\t"))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out)
	return err
}
