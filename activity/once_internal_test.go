package activity

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatIsLoggedOnceIsBounded(t *testing.T) {
	t.Parallel()
	var once onceOnly
	for n := range maxLogged {
		l := loggedOnce{"message", strconv.Itoa(n)}
		require.True(t, once.first(l))
		require.False(t, once.first(l))
	}
	require.False(t, once.first(loggedOnce{"message", "one more"}))
	require.Len(t, once.seen, maxLogged)
}
