package crashtest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/crashtest"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// zombieTime is three times the start-to-close timeout.
const zombieTime = 6 * time.Second

func TestAnAttemptThatIgnoresItsEndKeepsTheCall(t *testing.T) {
	t.Parallel()
	records := requireRecords(t)
	bench := requireBench(t)
	var lanes []*crashtest.Lane
	for _, policy := range policies {
		lanes = append(lanes, open(t, bench, crashtest.LaneOptions{
			DatabaseURL: records, Policy: policy, Orders: 2, Workers: 2, Stall: zombieTime,
		}))
	}
	for _, accounts := range pay(t, records, nil, lanes...) {
		requireOnce(t, accounts)
		zombie := accounts[0]
		require.Equal(t, 1, zombie.Records[0].Acquisitions, "nobody took it over")
		require.Greater(t, attempts(t, zombie.Order), 1, "a later attempt got its result")
	}
}

func TestASuspendedWorkerCannotSettleWhatItsSuccessorHas(t *testing.T) {
	t.Parallel()
	records := requireRecords(t)
	bench := requireBench(t)
	suspended := func(keys crashtest.Keys) *crashtest.Lane {
		return open(t, bench, crashtest.LaneOptions{DatabaseURL: records, Keys: keys, Orders: 1, Workers: 2, Suspend: true})
	}
	accounts := pay(t, records, nil, suspended(crashtest.HonoursKeys), suspended(crashtest.IgnoresKeys))
	for _, orders := range accounts {
		a := orders[0]
		require.NoError(t, a.Err)
		require.Equal(t, 2, a.Bodies)
		require.Equal(t, a.Charges[0], a.ChargeID, "the successor's charge, which came first")
		require.Equal(t, []crashtest.Entry{{Status: store.StatusCompleted, Acquisitions: 2, ChargeID: a.ChargeID}}, a.Records)
	}
	require.Len(t, accounts[0][0].Charges, 1, "a provider that honours keys charges once")
	require.Len(t, accounts[1][0].Charges, 2, "where keys are ignored, what the suspended worker did stands")
}
