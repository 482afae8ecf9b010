package crashtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/crashtest"
)

func TestLane(t *testing.T) {
	t.Parallel()
	bench := requireBench(t)
	t.Run("a kill that did not happen is a failure", func(t *testing.T) {
		t.Parallel()
		// Without deduplication nothing is reserved.
		lane := open(t, bench, crashtest.LaneOptions{Orders: 1, Window: crashtest.BeforeReservation})
		require.NoError(t, lane.Pay(t.Context()))
		require.ErrorContains(t, lane.Close(t.Context()), "no worker was killed before the reservation commits")
	})
	t.Run("a worker that cannot work is a failure that says why", func(t *testing.T) {
		t.Parallel()
		lane := open(t, bench, crashtest.LaneOptions{Orders: 1, DatabaseURL: "postgres://nobody@127.0.0.1:1/none"})
		require.ErrorContains(t, lane.Pay(t.Context()), "a worker failed")
		require.ErrorContains(t, lane.Close(t.Context()), "cannot connect to the database")
	})
	t.Run("options that cannot be used are named", func(t *testing.T) {
		t.Parallel()
		for _, o := range []crashtest.LaneOptions{{Orders: -1}, {Workers: -1}, {Stall: -1}, {Suspend: true}, {Orders: 2, Victim: 2}} {
			_, err := bench.OpenLane(o)
			require.ErrorContains(t, err, "crashtest: LaneOptions")
		}
	})
}
