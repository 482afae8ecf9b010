package store_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// reservation asks for the call that record() stands for.
func reservation(changes ...func(*store.Reservation)) store.Reservation {
	r := store.Reservation{
		Key: "order-42/charge/1", Hashes: []string{"h1"}, Token: store.NewToken(),
		Lease: time.Minute, Retention: time.Hour, Policy: store.Reexecute,
		Origin: store.Origin{Lineage: "first", Invocation: "run-1/5/1"},
	}
	for _, change := range changes {
		change(&r)
	}
	return r
}

// record is in progress under a live lease, for an earlier attempt of the
// scheduling that reservation() belongs to.
func record(changes ...func(*store.Record)) store.Record {
	r := store.Record{
		Key: "order-42/charge/1", Version: store.RecordVersion, Status: store.StatusInProgress, Hash: "h1",
		Token: store.NewToken(), Policy: store.Reexecute, EffectPossible: true, Acquisitions: 1, LeaseLeft: time.Second,
		Origin: store.Origin{Lineage: "first", Invocation: "run-1/5/1"},
	}
	for _, change := range changes {
		change(&r)
	}
	return r
}

func late(r *store.Record)              { r.LeaseLeft = 0 }
func pending(r *store.Record)           { r.Pending = true }
func held(r *store.Record)              { r.Held = true }
func noEffect(r *store.Record)          { r.EffectPossible = false }
func nonRetryable(r *store.Record)      { r.NonRetryable = true }
func completed(r *store.Record)         { r.Status, r.EffectPossible = store.StatusCompleted, false; late(r) }
func failed(r *store.Record)            { r.Status = store.StatusFailed; late(r) }
func refuse(r *store.Record)            { r.Policy = store.Refuse }
func verify(r *store.Record)            { r.Policy = store.Verify }
func otherLineage(r *store.Record)      { r.Lineage, r.Invocation = "second", "run-2/5/1" }
func otherRun(r *store.Record)          { r.Invocation = "run-2/5/1" }
func otherHash(r *store.Record)         { r.Hash = "h2" }
func noInvocation(r *store.Record)      { r.Invocation = "" }
func otherArgs(r *store.Record)         { otherRun(r); otherHash(r) }
func replayOther(r *store.Reservation)  { r.OnOther = store.ReplayOther }
func anyExecution(r *store.Reservation) { r.OnOther = store.AnyOther }
