package store

import "time"

// StatsOptions are the choices of [Admin.Stats].
type StatsOptions struct {
	// MaxPages is how many of the table's pages may be read. A larger table is
	// sampled, page by page at random, and its counts are estimates. Zero or
	// less: the table is read from end to end, however large it is. Results that
	// are stored out of line are never read.
	MaxPages int64
}

// Stats are the counts of a store's records. Those of Total and Types are
// estimates where Estimated says so; Held, OldestHeld, OldestExpiry and the sizes
// never are.
type Stats struct {
	// At is when they were counted, by the store's clock.
	At time.Time
	// Estimated: only SampledPages of the table's Pages were to be read.
	Estimated bool
	// Pages is the size of the table in pages, SampledPages how many of them were
	// to be read.
	Pages, SampledPages int64
	// Total counts all records.
	Total Counts
	// Types counts them by activity type, in the order of the types.
	Types []TypeCounts
	// Held counts the records that wait for an operator.
	Held int64
	// OldestHeld is when the oldest of them was held; zero if there is none.
	OldestHeld time.Time
	// OldestExpiry is the earliest end of a retention; zero without records. Far
	// in the past it means that nobody evicts, or that it is a record that is
	// never evicted, since nobody knows how it ended.
	OldestExpiry time.Time
	// TableBytes is the size of the table with results that are stored out of
	// line, IndexBytes that of its indexes.
	TableBytes, IndexBytes int64
}

// Counts are numbers of records. InProgress, Completed and Failed add up to
// Records, and Live and PastLease to InProgress, also where they are estimates; the
// others are parts of them.
type Counts struct {
	// Records counts all.
	Records int64
	// InProgress, Completed and Failed count by status.
	InProgress, Completed, Failed int64
	// Live counts those in progress that an execution owns, or that are pending.
	Live int64
	// PastLease counts those in progress whose lease is over: their executions
	// died or gave up, or nobody outside has completed them in time, and nobody has
	// tried again.
	PastLease int64
	// Pending counts those in progress that somebody outside completes, be their
	// lease live or over.
	Pending int64
	// Held counts those that wait for an operator.
	Held int64
	// EffectPossible counts those without a live lease of which nobody knows
	// whether they had their effect.
	EffectPossible int64
	// Tombstones counts completed ones that have no result to replay.
	Tombstones int64
	// Expired counts those whose retention is over and that may be evicted, but
	// are still there.
	Expired int64
	// Oldest is when the oldest one was first seen; zero without records.
	Oldest time.Time
}

// TypeCounts are the counts of one activity type.
type TypeCounts struct {
	// ActivityType is the type's name.
	ActivityType string
	Counts
}
