package report

// Measure declares what is measured.
type Measure struct {
	// Title says it in a table.
	Title string
	// Unit is the figure's, for people.
	Unit string
}

// What is measured.
const (
	Cycles         = "cycles"
	CyclesP99      = "cycles_p99"
	CyclesWAL      = "cycles_wal"
	CyclesHOT      = "cycles_hot"
	CyclesClient   = "cycles_client_cpu"
	CyclesServer   = "cycles_server_cpu"
	Replays        = "replays"
	ReplaysP99     = "replays_p99"
	ReplaysClient  = "replays_client_cpu"
	ReplaysServer  = "replays_server_cpu"
	SizedCycles    = "sized_cycles"
	RowBytes       = "row_bytes"
	IndexBytes     = "index_bytes"
	Eviction       = "eviction"
	ForegroundP99  = "foreground_p99"
	Foreground     = "foreground"
	Evicted        = "evicted"
	Workflows      = "workflows"
	Interceptor    = "interceptor"
	InterceptorAll = "interceptor_allocs"
	Fingerprint    = "fingerprint"
	FingerprintAll = "fingerprint_allocs"
)

// Measures declares them all, by name.
var Measures = map[string]Measure{
	Cycles:         {"reserve and complete", "cycles/s"},
	CyclesP99:      {"99th percentile of a cycle", "ms"},
	CyclesWAL:      {"WAL of a cycle", "bytes"},
	CyclesHOT:      {"heap-only updates", "%"},
	CyclesClient:   {"CPU time of the client for a cycle", "µs"},
	CyclesServer:   {"CPU time of Postgres for a cycle", "µs"},
	Replays:        {"replay of a completed call", "replays/s"},
	ReplaysP99:     {"99th percentile of a replay", "ms"},
	ReplaysClient:  {"CPU time of the client for a replay", "µs"},
	ReplaysServer:  {"CPU time of Postgres for a replay", "µs"},
	SizedCycles:    {"reserve and complete, by the table's size", "cycles/s"},
	RowBytes:       {"heap for a record", "bytes"},
	IndexBytes:     {"indexes for a record", "bytes"},
	Eviction:       {"eviction", "rows/s"},
	ForegroundP99:  {"99th percentile of a cycle beside evictors", "ms"},
	Foreground:     {"cycles beside evictors", "cycles/s"},
	Evicted:        {"evicted beside the foreground", "rows/s"},
	Workflows:      {"workflows of three activities", "workflows/s"},
	Interceptor:    {"interceptor, memory store, no-op body", "ns"},
	InterceptorAll: {"the same", "allocs"},
	Fingerprint:    {"fingerprint of ten fields", "ns"},
	FingerprintAll: {"the same", "allocs"},
}

// Who did it.
const (
	Grouped  = "this library"
	Single   = "this library, ungrouped"
	PgBench  = "pgbench"
	DBOS     = "DBOS"
	With     = "with the plugin"
	Without  = "without the plugin"
	Evictors = "four evictors"
	Alone    = "no evictors"
)
