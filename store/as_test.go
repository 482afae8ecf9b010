package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/memstore"
)

type decorator struct{ store.Store }

func (d decorator) Unwrap() store.Store { return d.Store }

func TestAs(t *testing.T) {
	t.Parallel()
	memory, err := memstore.New(memstore.Options{})
	require.NoError(t, err)
	for _, s := range []store.Store{memory, decorator{memory}, decorator{decorator{memory}}} {
		found, ok := store.As[*memstore.Store](s)
		require.True(t, ok)
		require.Same(t, memory, found)
		_, ok = store.As[store.Maintained](s)
		require.True(t, ok)
		_, ok = store.As[store.Selective](s)
		require.False(t, ok)
	}
	outer, ok := store.As[decorator](decorator{decorator{memory}})
	require.True(t, ok)
	require.Equal(t, decorator{decorator{memory}}, outer, "the outermost")
	_, ok = store.As[store.Maintained](decorator{nil})
	require.False(t, ok)
	_, ok = store.As[store.Maintained](nil)
	require.False(t, ok)
}
