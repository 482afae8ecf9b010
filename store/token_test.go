package store_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

func TestToken(t *testing.T) {
	t.Parallel()

	t.Run("two tokens are never equal, and none is zero", func(t *testing.T) {
		t.Parallel()
		seen := map[store.Token]bool{}
		for range 1000 {
			token := store.NewToken()
			require.False(t, token.IsZero())
			require.False(t, seen[token])
			seen[token] = true
		}
		require.True(t, store.Token{}.IsZero())
	})

	t.Run("its text is a UUID that parses to the same token", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, "00010203-0405-0607-0809-0a0b0c0d0e0f",
			store.Token{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}.String())
		rapid.Check(t, func(t *rapid.T) {
			token := store.Token(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "token"))
			parsed, err := store.ParseToken(token.String())
			require.NoError(t, err)
			require.Equal(t, token, parsed)
			parsed, err = store.ParseToken(strings.ToUpper(token.String()))
			require.NoError(t, err)
			require.Equal(t, token, parsed)
		})
	})

	t.Run("anything else is refused", func(t *testing.T) {
		t.Parallel()
		for _, text := range []string{
			"", "x", "000102030405060708090a0b0c0d0e0f", "00010203-0405-0607-0809-0a0b0c0d0e0", "00010203-0405-0607-0809-0a0b0c0d0e0ff",
			"00010203-0405-0607-0809-0a0b0c0d0e0g", "0001020-30405-0607-0809-0a0b0c0d0e0f", "{0010203-0405-0607-0809-0a0b0c0d0e0}",
		} {
			token, err := store.ParseToken(text)
			require.ErrorIs(t, err, store.ErrInvalidArgument, "%q", text)
			require.True(t, token.IsZero())
		}
	})
}

func FuzzParseToken(f *testing.F) {
	f.Add(store.NewToken().String())
	f.Add("--------")
	f.Fuzz(func(t *testing.T, text string) {
		token, err := store.ParseToken(text)
		if err == nil {
			require.Equal(t, strings.ToLower(text), token.String())
		}
	})
}
