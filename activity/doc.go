// Package activity deduplicates one execution of an activity: it derives the
// call's key, reserves it in the store, runs the body or answers from the
// record, keeps the lease while the body runs, and settles the record. It must
// not know which store it talks to, nor how a worker is configured.
//
// The life of an execution:
//
//	identify   header and activity.Info become a key          key.go, call.go
//	claim      reserve, decide, wait for another owner        claim.go, wait.go
//	run        the body, its lease kept                       run.go, keeper.go
//	settle     how the body ended becomes a record            ending.go, settle.go
//	complete   what ended outside the activity, as well       handle.go, async.go, completion.go
//
// Programs use it through package dedupe.
package activity
