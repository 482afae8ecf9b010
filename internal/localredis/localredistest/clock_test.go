package localredistest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localredis"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localredis/localredistest"
)

func TestClock(t *testing.T) {
	t.Parallel()

	t.Run("the server sees the time go by, and expires what is due", func(t *testing.T) {
		t.Parallel()
		s, clock := localredistest.RequireClock(t, localredis.Options{})
		client := localredistest.RequireClient(t, s)
		require.NoError(t, client.Set(t.Context(), "k", "v", 5*time.Hour).Err())
		for _, passed := range []time.Duration{2 * time.Hour, 4 * time.Hour} {
			clock.Advance(2 * time.Hour)
			now, err := client.Time(t.Context()).Result()
			require.NoError(t, err)
			require.Equal(t, passed, time.Until(now).Round(time.Hour))
			require.Equal(t, "v", client.Get(t.Context(), "k").Val())
		}
		clock.Advance(2 * time.Hour)
		require.Zero(t, client.Exists(t.Context(), "k").Val())
	})
}
