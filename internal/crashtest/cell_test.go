package crashtest_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	dedupe "github.com/seed5aa7bdf6/temporal-dedupe"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/crashtest"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// The judge himself, tried on accounts that must not pass.
func TestCell(t *testing.T) {
	t.Parallel()
	unknown := temporal.NewNonRetryableApplicationError("nobody knows", dedupe.ErrTypeOutcomeUnknown, nil)
	completed := func(acquisitions int) []crashtest.Entry {
		return []crashtest.Entry{{Status: store.StatusCompleted, Acquisitions: acquisitions, ChargeID: "a"}}
	}
	heldRecord := []crashtest.Entry{{Status: store.StatusInProgress, Held: true, Acquisitions: 1}}
	for _, tc := range []struct {
		name   string
		cell   crashtest.Cell
		order  crashtest.Account
		broken string // "" if the promise was kept
		want   crashtest.Cell
	}{
		{
			"charged once, recorded and reported",
			crashtest.Cell{Window: crashtest.BeforeReport, Policy: store.Reexecute, Keys: crashtest.IgnoresKeys},
			crashtest.Account{Victim: true, ChargeID: "a", Bodies: 1, BodiesAtKill: 1, Charges: []string{"a"}, Records: completed(1)},
			"", crashtest.Cell{Paid: 1},
		},
		{
			"charged again where a body may run again and keys are ignored",
			crashtest.Cell{Window: crashtest.BeforeRecord, Policy: store.Reexecute, Keys: crashtest.IgnoresKeys},
			crashtest.Account{Victim: true, ChargeID: "a", Bodies: 2, BodiesAtKill: 1, Charges: []string{"b", "a"}, Records: completed(2)},
			"", crashtest.Cell{Paid: 1, Again: 1},
		},
		{
			"charged again although nobody took the record over",
			crashtest.Cell{Window: crashtest.BeforeRecord, Policy: store.Reexecute, Keys: crashtest.IgnoresKeys},
			crashtest.Account{ChargeID: "a", Bodies: 2, Charges: []string{"b", "a"}, Records: completed(1)},
			"charged more than once", crashtest.Cell{Paid: 1, Duplicates: 1},
		},
		{
			"charged again although the record was complete",
			crashtest.Cell{Window: crashtest.BeforeReport, Policy: store.Reexecute, Keys: crashtest.IgnoresKeys},
			crashtest.Account{Victim: true, ChargeID: "a", Bodies: 2, BodiesAtKill: 1, Charges: []string{"b", "a"}, Records: completed(2)},
			"a body ran after the record was complete", crashtest.Cell{Paid: 1, Duplicates: 1},
		},
		{
			"charged again by a provider that honours keys",
			crashtest.Cell{Window: crashtest.BeforeRecord, Policy: store.Reexecute, Keys: crashtest.HonoursKeys},
			crashtest.Account{ChargeID: "a", Bodies: 2, Charges: []string{"b", "a"}, Records: completed(2)},
			"charged more than once", crashtest.Cell{Paid: 1, Duplicates: 1},
		},
		{
			"held by refuse",
			crashtest.Cell{Window: crashtest.BeforeRecord, Policy: store.Refuse, Keys: crashtest.IgnoresKeys},
			crashtest.Account{Victim: true, Err: unknown, Bodies: 1, BodiesAtKill: 1, Charges: []string{"a"}, Records: heldRecord},
			"", crashtest.Cell{Held: 1},
		},
		{
			"a second body under refuse",
			crashtest.Cell{Window: crashtest.BeforeRecord, Policy: store.Refuse, Keys: crashtest.HonoursKeys},
			crashtest.Account{ChargeID: "a", Bodies: 2, Charges: []string{"a"}, Records: completed(2)},
			"a second body ran", crashtest.Cell{Paid: 1},
		},
		{
			"refused by a policy that does not refuse",
			crashtest.Cell{Window: crashtest.BeforeRecord, Policy: store.Verify, Keys: crashtest.IgnoresKeys},
			crashtest.Account{Err: unknown, Bodies: 1, Charges: []string{"a"}, Records: heldRecord},
			"lost", crashtest.Cell{Lost: 1},
		},
		{
			"a body that ran although the verifier knew",
			crashtest.Cell{Window: crashtest.BeforeRecord, Policy: store.Verify, Keys: crashtest.HonoursKeys},
			crashtest.Account{Victim: true, ChargeID: "a", Bodies: 2, BodiesAtKill: 1, Charges: []string{"a"}, Records: completed(2)},
			"the verifier knew", crashtest.Cell{Paid: 1},
		},
		{
			"a result that is no charge of the order's",
			crashtest.Cell{Window: crashtest.BeforeReport, Policy: store.Reexecute, Keys: crashtest.IgnoresKeys},
			crashtest.Account{ChargeID: "b", Bodies: 1, Charges: []string{"a"}, Records: completed(1)},
			"lost", crashtest.Cell{Lost: 1},
		},
		{
			"a result that is not the recorded one",
			crashtest.Cell{Window: crashtest.BeforeRecord, Policy: store.Reexecute, Keys: crashtest.IgnoresKeys},
			crashtest.Account{ChargeID: "b", Bodies: 2, Charges: []string{"a", "b"}, Records: completed(2)},
			"lost", crashtest.Cell{Lost: 1, Again: 1},
		},
		{
			"a workflow that did not end",
			crashtest.Cell{Window: crashtest.AfterReport, Policy: store.Reexecute, Keys: crashtest.IgnoresKeys},
			crashtest.Account{Err: errors.New("timeout"), Bodies: 1, Charges: []string{"a"}, Records: completed(1)},
			"lost", crashtest.Cell{Lost: 1},
		},
		{
			"a charge without a record",
			crashtest.Cell{Window: crashtest.AfterReport, Policy: store.Reexecute, Keys: crashtest.IgnoresKeys},
			crashtest.Account{ChargeID: "a", Bodies: 1, Charges: []string{"a"}},
			"has not one record", crashtest.Cell{Lost: 1},
		},
		{
			"anything without deduplication, where nothing is promised",
			crashtest.Cell{Window: crashtest.BeforeRecord, Keys: crashtest.IgnoresKeys},
			crashtest.Account{Victim: true, ChargeID: "a", Bodies: 2, BodiesAtKill: 1, Charges: []string{"b", "a"}},
			"", crashtest.Cell{Paid: 1, Duplicates: 1},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := tc.cell
			c.Add([]crashtest.Account{tc.order})
			if tc.broken == "" {
				require.Empty(t, c.Broken)
			} else {
				require.NotEmpty(t, c.Broken)
				require.Contains(t, c.Broken[0]+c.Broken[len(c.Broken)-1], tc.broken)
			}
			require.Equal(t, [5]int{tc.want.Paid, tc.want.Held, tc.want.Lost, tc.want.Again, tc.want.Duplicates},
				[5]int{c.Paid, c.Held, c.Lost, c.Again, c.Duplicates}, "paid, held, lost, again, duplicates")
		})
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	r := crashtest.Report{Cells: []crashtest.Cell{
		{Window: crashtest.BeforeRecord, Policy: store.Reexecute, Keys: crashtest.IgnoresKeys, Kills: 1, Orders: 8, Paid: 8, Bodies: 10, Charges: 10, Again: 2},
		{Window: crashtest.BeforeRecord, Policy: store.Refuse, Keys: crashtest.IgnoresKeys, Kills: 1, Orders: 8, Paid: 6, Held: 2, Bodies: 8, Charges: 8},
	}}
	require.True(t, r.OK(), "what is allowed breaks nothing")
	require.Equal(t, "2 kills, 0 duplicate charges, 0 lost orders", r.Summary())
	require.Contains(t, r.String(), "2 charges made again")
	require.Contains(t, r.String(), "2 orders held for an operator")
	require.NotContains(t, r.String(), "BROKEN")

	r.Cells[1].Duplicates, r.Cells[1].Broken = 1, []string{"refuse: order 1: charged more than once"}
	require.False(t, r.OK())
	require.Equal(t, "2 kills, 1 duplicate charge, 0 lost orders", r.Summary())
	require.Contains(t, r.String(), "BROKEN: refuse: order 1")
}
