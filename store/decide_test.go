package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// Every row of the table in the comment of Decide, each with its neighbours.
func TestDecide(t *testing.T) {
	t.Parallel()
	type on = []func(*store.Record)
	type asks = []func(*store.Reservation)
	for _, c := range []struct {
		name  string
		found on
		asked asks
		want  store.Action
		other bool
	}{
		// another lineage
		{"another lineage in progress is refused", on{otherLineage}, nil, store.ActOther, false},
		{"another lineage's abandoned record is refused", on{otherLineage, late}, nil, store.ActOther, false},
		{"another lineage's record released without an effect is free", on{otherLineage, late, noEffect}, nil, store.ActAcquire, false},
		{"another lineage's result is refused", on{otherLineage, completed}, nil, store.ActOther, false},
		{"another lineage's failure with a possible effect is refused", on{otherLineage, failed}, nil, store.ActOther, false},
		{"another lineage's failure without one is free", on{otherLineage, failed, noEffect}, nil, store.ActAcquire, false},
		{"another lineage's conflict is refused as another execution's", on{otherLineage, completed, otherHash}, nil, store.ActOther, false},
		{"another lineage's result is replayed and flagged where asked", on{otherLineage, completed}, asks{replayOther}, store.ActReplay, true},
		{"another lineage in progress is waited for and flagged where asked", on{otherLineage}, asks{replayOther}, store.ActWait, true},
		{"another lineage's conflict is one, flagged, where asked", on{otherLineage, completed, otherHash}, asks{replayOther}, store.ActConflict, true},
		{"another lineage's free failure is not flagged", on{otherLineage, failed, noEffect}, asks{replayOther}, store.ActAcquire, false},
		{"lineages do not matter where the key is the operation", on{otherLineage, completed}, asks{anyExecution}, store.ActReplay, false},
		{"arguments matter where the key is the operation", on{otherLineage, completed, otherHash}, asks{anyExecution}, store.ActConflict, false},
		{"the own lineage is never another", on{completed}, asks{replayOther}, store.ActReplay, false},

		// fingerprints
		{"other arguments than a result's are a conflict", on{completed, otherArgs}, nil, store.ActConflict, false},
		{"other arguments than a live owner's are a conflict", on{otherArgs}, nil, store.ActConflict, false},
		{"other arguments than a pending call's are a conflict", on{pending, otherArgs}, nil, store.ActConflict, false},
		{"other arguments than a held record's are a conflict", on{late, held, otherArgs}, nil, store.ActConflict, false},
		{"other arguments than those of an unknown outcome are a conflict", on{late, refuse, otherArgs}, nil, store.ActConflict, false},
		{"other arguments than those to be verified are a conflict", on{late, verify, otherArgs}, nil, store.ActConflict, false},
		{"other arguments than a doubtful failure's are a conflict", on{failed, refuse, otherArgs}, nil, store.ActConflict, false},
		{"an abandoned record with a possible effect refuses other arguments", on{late, otherArgs}, nil, store.ActConflict, false},
		{"a pending record that nobody completed refuses other arguments", on{late, pending, otherArgs}, nil, store.ActConflict, false},
		{"a released record takes other arguments", on{late, noEffect, refuse, otherArgs}, nil, store.ActAcquire, false},
		{"a failed record with a possible effect refuses other arguments", on{failed, otherArgs}, nil, store.ActConflict, false},
		{"a failed record without effect takes other arguments", on{failed, noEffect, verify, otherArgs}, nil, store.ActAcquire, false},
		{"arguments are not compared within one invocation", on{completed, otherHash}, nil, store.ActReplay, false},
		{"arguments are compared where there is no invocation", on{completed, otherHash, noInvocation}, asks{func(r *store.Reservation) { r.Invocation = "" }}, store.ActConflict, false},
		{"a fingerprint of any secret is accepted", on{completed, otherArgs}, asks{func(r *store.Reservation) { r.Hashes = []string{"h3", "h2"} }}, store.ActReplay, false},

		// outcomes
		{"a result is replayed", on{completed}, nil, store.ActReplay, false},
		{"a result is replayed to another run", on{completed, otherRun}, nil, store.ActReplay, false},
		{"a definite failure is replayed to its invocation", on{failed, noEffect, nonRetryable}, nil, store.ActReplayFailure, false},
		{"a definite failure is replayed even if an effect is possible", on{failed, refuse, nonRetryable}, nil, store.ActReplayFailure, false},
		{"a definite failure is replayed even if it is held", on{failed, refuse, held, nonRetryable}, nil, store.ActReplayFailure, false},
		{"a definite failure is reopened by another run", on{failed, noEffect, nonRetryable, otherRun}, nil, store.ActAcquire, false},
		{"a definite failure is reopened where there is no invocation", on{failed, noEffect, nonRetryable, noInvocation}, asks{func(r *store.Reservation) { r.Invocation = "" }}, store.ActAcquire, false},
		{"a retryable failure is reopened", on{failed}, nil, store.ActAcquire, false},
		{"a retryable failure without effect is reopened under Refuse", on{failed, noEffect, refuse}, nil, store.ActAcquire, false},
		{"a retryable failure without effect is reopened under Verify", on{failed, noEffect, verify}, nil, store.ActAcquire, false},

		// leases
		{"a live owner is waited for", on{}, nil, store.ActWait, false},
		{"a live owner is waited for to the last nanosecond", on{func(r *store.Record) { r.LeaseLeft = 1 }}, nil, store.ActWait, false},
		{"a live owner without effect is waited for", on{noEffect}, nil, store.ActWait, false},
		{"a live owner of a held record is waited for", on{held}, nil, store.ActWait, false},
		{"a pending call is pending", on{pending}, nil, store.ActPending, false},
		{"a lease that is over is over", on{func(r *store.Record) { r.LeaseLeft = -time.Hour }}, nil, store.ActAcquire, false},
		{"a released record is acquired under Refuse", on{late, noEffect, refuse}, nil, store.ActAcquire, false},
		{"a released record is acquired under Verify", on{late, noEffect, verify}, nil, store.ActAcquire, false},

		// takeover
		{"an abandoned record is run again under Reexecute", on{late}, nil, store.ActAcquire, false},
		{"an abandoned record is unknown under Refuse", on{late, refuse}, nil, store.ActUnknown, false},
		{"an abandoned record is verified under Verify", on{late, verify}, nil, store.ActVerify, false},
		{"a pending record that nobody completed is unknown under Refuse", on{late, pending, refuse}, nil, store.ActUnknown, false},
		{"a doubtful failure is unknown under Refuse", on{failed, refuse}, nil, store.ActUnknown, false},
		{"a doubtful failure is verified under Verify", on{failed, verify}, nil, store.ActVerify, false},
		{"a held record is unknown under Reexecute", on{late, held}, nil, store.ActUnknown, false},
		{"a held record is unknown under Refuse", on{late, held, refuse}, nil, store.ActUnknown, false},
		{"a held record is verified again under Verify", on{late, held, verify}, nil, store.ActVerify, false},
		{"the record's policy decides, not the reservation's", on{late, refuse}, asks{func(r *store.Reservation) { r.Policy = store.Reexecute }}, store.ActUnknown, false},
		{"a policy that is not known is as good as Refuse", on{late, func(r *store.Record) { r.Policy = "later" }}, nil, store.ActUnknown, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := store.Decide(record(c.found...), reservation(c.asked...))
			require.Equal(t, c.want, got.Action, "%v, want %v", got.Action, c.want)
			require.Equal(t, c.other, got.Other)
		})
	}
}
