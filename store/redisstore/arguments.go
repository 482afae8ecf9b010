package redisstore

import (
	"fmt"
	"strconv"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// validReservation checks a reservation and returns its key.
func (s *Store) validReservation(r store.Reservation) (string, error) {
	if err := r.Validate(); err != nil {
		return "", err
	}
	if err := s.Supports(r.Policy); err != nil {
		return "", fmt.Errorf("%w: key %q: %w", store.ErrInvalidArgument, r.Key, err)
	}
	return r.Key, nil
}

// terms are the lease and the retention of a reservation, as scripts take them.
func terms(r store.Reservation) []any {
	return []any{microseconds(r.Lease), microseconds(r.Retention), r.Generation, r.Lineage}
}

// fields are the names and values of what a reservation records. What is empty is
// left out: an absent field reads as empty.
func fields(r store.Reservation) []any {
	out := []any{
		"version", store.RecordVersion,
		"token", r.Token.String(),
		"hash", r.Hashes[0],
		"policy", string(r.Policy),
	}
	for _, f := range []struct{ name, value string }{
		{"lineage", r.Lineage}, {"invocation", r.Invocation}, {"namespace", r.Namespace}, {"workflow_id", r.WorkflowID},
		{"run_id", r.RunID}, {"activity_id", r.ActivityID}, {"activity_type", r.ActivityType}, {"scheduled", scheduled(r.ScheduledAt)},
		{"owner", r.Owner}, {"trace_parent", r.TraceParent},
	} {
		if f.value != "" {
			out = append(out, f.name, f.value)
		}
	}
	if r.Attempt != 0 {
		out = append(out, "attempt", r.Attempt)
	}
	return out
}

// scheduled returns the time to the nanosecond, or nothing if it is not known or
// has no such text.
func scheduled(t time.Time) string {
	t = t.UTC()
	if t.IsZero() || t.Year() < 1 || t.Year() > 9999 {
		return ""
	}
	return t.Format(time.RFC3339Nano)
}

// microseconds rounds up: a lease must not become shorter than its caller thinks.
func microseconds(d time.Duration) string {
	us := d.Microseconds()
	if time.Duration(us)*time.Microsecond < d {
		us++
	}
	return strconv.FormatInt(us, 10)
}

// flag is how scripts take a boolean.
func flag(b bool) string {
	if b {
		return "1"
	}
	return ""
}
