package crashtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/crashtest"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg/localpgtest"
)

func TestPromisesHoldBehindATransactionPooler(t *testing.T) {
	t.Parallel()
	records := requireRecords(t)
	const settings = "pool_mode = transaction\ndefault_pool_size = 10"
	pooled := localpgtest.RequirePgBouncer(t, records, settings)
	bench := requireBench(t)

	t.Run("in the exec modes that work there", func(t *testing.T) {
		t.Parallel()
		var cells []crashtest.Cell
		var lanes []*crashtest.Lane
		for _, mode := range []string{"cache_describe", "exec", "simple_protocol"} {
			for _, policy := range policies {
				c := crashtest.Cell{Window: crashtest.BeforeRecord, Policy: policy, Keys: crashtest.HonoursKeys}
				cells = append(cells, c)
				lanes = append(lanes, open(t, bench, crashtest.LaneOptions{
					DatabaseURL: pooled + "&default_query_exec_mode=" + mode,
					Window:      c.Window, Policy: c.Policy, Keys: c.Keys, Victim: 3,
				}))
			}
		}
		for i, accounts := range pay(t, records, nil, lanes...) {
			requireKept(t, cells[i], accounts)
		}
	})
	for _, mode := range []string{"cache_statement", "describe_exec"} {
		t.Run("and a worker does not start in "+mode, func(t *testing.T) {
			t.Parallel()
			idle := localpgtest.RequirePgBouncer(t, records, settings) // answers in time
			lane := open(t, bench, crashtest.LaneOptions{
				DatabaseURL: idle + "&default_query_exec_mode=" + mode, Orders: 1,
			})
			require.Error(t, lane.Pay(t.Context()))
			// It finds out by looking for a pooler, or meets it when it looks at the database.
			require.ErrorContains(t, lane.Close(t.Context()), "set default_query_exec_mode=cache_describe")
		})
	}
}
