package pgstore

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

func TestOneRowIsAnsweredAsSeveralAre(t *testing.T) {
	t.Parallel()
	s, _ := requireOwnStore(t)
	forms := map[string]func(*statement){
		"arrays": func(q *statement) { q.one = "" }, "parameters": func(q *statement) { require.NotEmpty(t, q.one) },
	}
	for form, choose := range forms {
		run := func(q statement) {
			choose(&q)
			require.NoError(t, q.run(t.Context(), s.pool), form)
		}
		reserve := func(r store.Reservation) store.Found {
			found := make([]store.Found, 1)
			run(s.reserve([]store.Reservation{r}, found))
			return found[0]
		}
		complete := func(r store.Reservation, result []byte, tombstone store.Tombstone) store.Settled {
			settled := make([]store.Settled, 1)
			run(s.complete([]store.Settlement{{Key: r.Key, Token: r.Token, Outcome: store.OutcomeComplete, Result: result, Tombstone: tombstone}}, settled))
			return settled[0]
		}
		get := func(key string) store.Found {
			found := make([]store.Found, 1)
			run(s.get([]string{key}, found))
			return found[0]
		}
		for name, result := range map[string][]byte{"nil": nil, "empty": {}, "bytes": {0, 0xff, '\\', '{'}} {
			tombstone := map[bool]store.Tombstone{true: store.TombstoneResultTooLarge}[result == nil]
			r := newReservation(fmt.Sprintf("%s %s '{}\\ ключ", form, name))
			require.False(t, get(r.Key).Exists)
			require.Equal(t, store.Found{Inserted: true}, reserve(r))
			again := reserve(r)
			require.True(t, again.Exists)
			require.Equal(t, r.Token, again.Record.Token)
			thief := r
			thief.Token = store.NewToken()
			require.Zero(t, complete(thief, []byte("stolen"), ""), "it is left to the statement that says why")
			require.Equal(t, store.SettledApplied, complete(r, result, tombstone))
			require.Zero(t, complete(r, result, tombstone))
			kept := get(r.Key).Record
			require.Equal(t, store.StatusCompleted, kept.Status)
			require.Equal(t, result, kept.Result)
			require.Equal(t, tombstone, kept.Tombstone)
			require.Equal(t, r.Key, kept.Key)
		}
	}
}

func TestFormsForOneRowTakeNoArrays(t *testing.T) {
	t.Parallel()
	all := newStatements(Options{}.withDefaults(), true)
	for _, sql := range []string{all.one.reserve, all.one.complete, all.one.get} {
		require.NotRegexp(t, `\$\d+::\w+\[\]|unnest|ORDINALITY|cardinality`, sql)
	}
	none := newStatements(Options{}.withDefaults(), false)
	require.Empty(t, none.one, "a session of others would keep a plan for the size that the table has now")
}
