package crashtest_test

import (
	"bytes"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/crashtest"
)

func TestAnswersLostAfterTheCommitChangeNothing(t *testing.T) {
	t.Parallel()
	records := requireRecords(t)
	bench := requireBench(t)
	for _, tc := range []struct {
		name, statement string
	}{
		{"of reservations", "INSERT INTO"},
		{"of settlements", "r.ctid = i.place"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var seen atomic.Int32
			p, url := requireProxy(t, records, func(request []byte) bool {
				// Every other one: what is tried again must get through.
				return bytes.Contains(request, []byte(tc.statement)) && seen.Add(1)%2 == 1
			})
			// In this mode each statement is one request, with its text.
			url += "&default_query_exec_mode=exec"
			var lanes []*crashtest.Lane
			for _, policy := range policies {
				lanes = append(lanes, open(t, bench, crashtest.LaneOptions{DatabaseURL: url, Policy: policy, Orders: 12}))
			}
			for _, orders := range pay(t, records, nil, lanes...) {
				requireOnce(t, orders)
			}
			require.Greater(t, p.lost.Load(), int32(10), "answers were lost")
			t.Logf("%d of %d answers lost", p.lost.Load(), seen.Load())
		})
	}
}
