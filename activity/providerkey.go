package activity

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"

	sdkactivity "go.temporal.io/sdk/activity"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// ProviderKey is an idempotency key for a downstream service: 64 hex digits,
// stable over the attempts of a call.
type ProviderKey string

// For derives a key for one of several downstream calls of an activity, such
// as For("stripe", "charge"). Equal parts give equal keys.
func (k ProviderKey) For(parts ...string) ProviderKey {
	return derive("dedupe:for", append([]string{string(k)}, parts...)...)
}

// Key returns the provider key of the activity that ctx belongs to. It stays
// the same over attempts, crashes and takeovers, and moves only when it is
// certain that the provider has seen no effect. Within an effect of [Do] it is the
// effect's own. In an activity that is not deduplicated it is stable over the
// attempts of one scheduling. It panics outside an activity.
func Key(ctx context.Context) ProviderKey {
	if e := executionFrom(ctx); e != nil {
		return RecordProviderKey(e.call.key, e.generation)
	}
	if !sdkactivity.IsActivity(ctx) {
		panic("dedupe: Key was called outside an activity")
	}
	info := sdkactivity.GetInfo(ctx)
	run := info.WorkflowExecution.RunID
	if run == "" {
		run = info.ActivityRunID
	}
	return derive("dedupe:invocation", run, info.ActivityID, nanos(info.ScheduledTime))
}

// RecordProviderKey returns what [Key] gives the executions of a record, by the
// record's key and generation: for people who look a call up at the provider.
func RecordProviderKey(key string, generation int) ProviderKey {
	return derive("dedupe:record", key, strconv.Itoa(generation))
}

// firstGeneration is where the generations of a lineage begin whose key other lineages
// may have too: a workflow ID is used again, its record is gone or left no effect, and
// the provider still remembers what it was asked under that key. It is known without the
// record, as an execution without one must know it.
func firstGeneration(lineage string) int {
	sum := sha256.Sum256([]byte(lineage))
	return 1 + int(binary.BigEndian.Uint32(sum[:])%store.MaxGeneration)
}

// derive digests a domain and parts; lengths go in, so that no two lists of
// parts look alike.
func derive(domain string, parts ...string) ProviderKey {
	h := sha256.New()
	write := func(s string) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(s)))
		_, _ = h.Write(n[:])
		_, _ = h.Write([]byte(s))
	}
	write(domain)
	for _, p := range parts {
		write(p)
	}
	return ProviderKey(hex.EncodeToString(h.Sum(nil)))
}
