package command

import (
	"fmt"
	"strings"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// state says in a few words how a record stands, from the times at which the
// store read it.
func state(e store.Entry) string {
	var words []string
	switch {
	case e.Status == store.StatusCompleted && e.Tombstone != "":
		words = append(words, "completed", strings.ReplaceAll(string(e.Tombstone), "_", " "))
	case e.Status == store.StatusCompleted:
		words = append(words, "completed")
	case e.Held:
		words = append(words, "held")
	case e.LeaseLive() && e.Pending:
		words = append(words, "pending")
	case e.LeaseLive():
		words = append(words, "running")
	case e.Status == store.StatusFailed && e.NonRetryable:
		words = append(words, "failed", "final")
	case e.Status == store.StatusFailed:
		words = append(words, "failed")
	case e.GivenUp:
		words = append(words, "released")
	default:
		words = append(words, "lease over")
	}
	if e.EffectPossible && !e.Held && !e.LeaseLive() {
		words = append(words, "effect possible")
	}
	return strings.Join(words, ", ")
}

// lease says whose the record is, or was.
func lease(e store.Entry) string {
	switch {
	case e.Status != store.StatusInProgress:
		return "ended with the execution"
	case e.LeaseLeft > 0:
		return fmt.Sprintf("live, %s left of %s", span(e.LeaseLeft), span(e.LeaseLength))
	case e.GivenUp:
		return "given up"
	default:
		return fmt.Sprintf("over for %s, it was %s", span(-e.LeaseLeft), span(e.LeaseLength))
	}
}

// next says what an attempt would get now, for the scheduling that acquired the
// record last and for another one with the same arguments: what [store.Decide]
// decides. Workers that know a record's version answer what this program cannot tell.
func next(e store.Entry) (same, other string) {
	if e.Version > store.RecordVersion {
		text := fmt.Sprintf("is refused by workers of this release, and tried again: %s (the record has version %d, this release knows %d)",
			activity.ErrTypeRecordVersion, e.Version, store.RecordVersion)
		return text, text
	}
	r := store.Reservation{Hashes: []string{e.Hash}, Origin: e.Origin}
	same = action(store.Decide(e.Record, r).Action, e)
	r.Invocation = ""
	return same, action(store.Decide(e.Record, r).Action, e)
}

func action(a store.Action, e store.Entry) string {
	switch a {
	case store.ActAcquire:
		return "runs the body"
	case store.ActVerify:
		return "asks the policy's verifier"
	case store.ActReplay:
		if e.Tombstone != "" {
			return "is refused: the result is gone, and the body is not run again"
		}
		return "gets the recorded result"
	case store.ActReplayFailure:
		return "gets the recorded failure"
	case store.ActWait, store.ActPending:
		return "waits for the owner"
	case store.ActUnknown:
		return "is refused: dedupe.OutcomeUnknown"
	default:
		return "is refused: " + string(a)
	}
}

// span writes a duration as people say it.
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Hour:
		return d.Round(time.Second).String()
	case d < 48*time.Hour:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	default:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	}
}

// when writes a time, or a dash for none.
func when(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}
