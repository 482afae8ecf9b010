// Package worker wires both halves of the deduplication into a Temporal client
// and its workers: a plugin with the workflow side and the activity side, and
// one with the workflow side alone. It must not know what is decided about a
// record.
//
// Programs use it through package dedupe.
package worker
