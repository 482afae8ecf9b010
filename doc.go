// Package dedupe stops a Temporal activity from charging twice.
//
// Temporal runs an activity at least once. A worker can charge a card and die
// before it reports; the retry charges again. Between "the effect happened" and
// "Temporal knows", nothing in Temporal helps. This package remembers in your own
// database what each logical activity call has done, so that a retry gets the
// first run's answer.
//
// # What it promises
//
// While the record is kept, and the database keeps what it committed:
//
//   - A call whose result is recorded is not run again: it is answered with the
//     recorded result, byte for byte.
//   - Two workers do not run a call at once while its owner is alive and reaches
//     the store, or is dead.
//   - A service that honours idempotency keys sees each call once, if it is given
//     [Key]; and writes to the database that has the records are made exactly
//     once through pgstore.InTx.
//   - Two different requests never share a record: the second is refused with
//     [ErrTypeConflict] and gets no answer.
//
// It does not promise that a body runs once. A worker that dies between its
// effect and its record leaves an outcome that nobody knows. Policy.Takeover
// decides what the next attempt then does: run again with the same [Key]
// ([Reexecute], the default), refuse until an operator has looked ([Refuse]), or
// ask ([Verify]). An owner that is suspended or cut off from the store for longer
// than its lease can overlap its successor: it cannot record anything any more,
// but its effect stands.
//
// # Registering it
//
// A plugin for the client covers every worker that is made from it. Only the
// activity types that are named are deduplicated:
//
//	store, err := pgstore.New(ctx, pool, pgstore.Options{})
//	plugin, err := dedupe.NewPlugin(dedupe.Options{
//		Store: store,
//		Policies: dedupe.Policies{
//			"ChargePayment": {},
//			"SendReceipt":   {Retention: 24 * time.Hour},
//		},
//	})
//	c, err := client.Dial(client.Options{Plugins: []client.Plugin{plugin}})
//	w := worker.New(c, "payments", worker.Options{WorkerStopTimeout: time.Minute})
//
// Workers that only run workflows take [NewWorkflowPlugin], which needs no store.
// Those who wire by hand take [NewInterceptor]. Policies can also come from a file:
// [LoadConfig] reads it, and Config.Apply joins it with Options; the file decides
// the values, code gives the functions.
//
// The plugin evicts records whose retention is over, every minute
// (Options.EvictionInterval). [Metrics] lists what it reports to OpenTelemetry.
//
// # What makes two calls the same
//
// Each call has a key. By default it says: the n-th call of this activity type in
// this workflow ID, counted by the workflow side and carried to the activity in a
// header. The count is exact over retries, replays and crashes. Where calls of
// one type race and the workflow is reset, their order may differ; give them
// names with [WithStepKey], or count them by their arguments with
// [WithNumberByArguments]. [WithBusinessKey] makes a key of your own the identity,
// whatever workflow calls it, and [WithoutDedupe] exempts a call.
//
// Policy.Scope says over what the identity holds: the workflow ID, one execution
// of it, or one run. A workflow ID that is used again for a new execution meets
// the old records; it is refused with [ErrTypeOtherExecution], since it must
// neither skip its payment silently nor pay twice silently.
//
// Without the workflow side there is no number, and only the attempts of one
// scheduling are deduplicated: their run ID, activity ID and scheduled time are
// equal.
//
// The arguments are compared as well: a keyed digest of them stands in the
// record, and a request that differs is refused whatever its key.
//
// # Inside an activity
//
// [Key] is the idempotency key to send downstream; its For method derives one for
// each of several services, and [Transport] sends it over HTTP. [Do] records a named
// effect the moment it returns, so that what happens to the activity afterwards
// does not repeat it. pgstore.InTx commits your writes and the record together.
// [NoEffect] marks an error with your word that nothing
// has happened, so that the call may run again with a new key. A context that is
// cancelled with [ErrLeaseLost] as its cause tells that another execution has the
// call: stop.
//
// # Completing from outside
//
// An activity that returns Temporal's activity.ErrResultPending hands [PendingHandle] over
// first. Whoever has the result, in whatever process, calls [CompleteAsync]: it
// records the outcome and then tells Temporal, and can be called again after a
// crash. Until then the record is pending, for the attempt's time and 30 seconds;
// after that Policy.Takeover decides as for a worker that died. Temporal's own
// client.CompleteActivity must not be used: it leaves the record pending, so that
// a reset would find an outcome that nobody knows.
//
// # Stores
//
// Package store/pgstore keeps records in the table idempotency_records of your
// Postgres, which package migrations creates. Package store/redisstore keeps them
// in Redis, and says what a failover of it can lose. Package store/memstore keeps
// them in memory, for tests and for trying things out. A store of your own passes
// store/storetest.
//
// # Errors
//
// What leaves the interceptor is either the body's own error, untouched (but for
// errors that Temporal would refuse: docs/replay.md), or a
// *temporal.ApplicationError of one of these types. "Retried" means that Temporal
// tries again by itself; the body has not run and an attempt is spent.
//
//	situation                                   Type                       what to do
//	------------------------------------------  -------------------------  ----------------------------------------------
//	key reused for a different request          ErrTypeConflict            final: give the calls step keys, or count them by arguments
//	workflow ID used again after it closed      ErrTypeOtherExecution      final: new workflow ID, another Scope, or OnOtherExecution
//	effect possible, policy forbids a rerun     ErrTypeOutcomeUnknown      final: look at the provider, then `dedupe records complete` or `release`, and reset
//	another execution owns the call             ErrTypeInFlight            retried: nothing
//	another execution took the call over        ErrTypeLeaseLost           retried: nothing; often: give the database more room
//	InTx lost against a concurrent transaction  ErrTypeSerialization       retried: nothing
//	store cannot be reached                     ErrTypeStoreUnavailable    retried: bring the database back
//	too many executions want the store          ErrTypeStoreBusy           retried: raise MaxConcurrentStoreCalls, or the database's size
//	record written by a later release           ErrTypeRecordVersion       retried: upgrade this worker
//	fingerprint of an unknown secret or version ErrTypeFingerprintUnknown  retried: give this worker the secret, or upgrade it
//	stored result cannot be read, or is purged  ErrTypeRecordCorrupt       final: look at the record
//	result over MaxResultBytes                  ErrTypeResultTooLarge      final: return less, or raise the limit; it is not run again
//	arguments have no canonical form            ErrTypeNoFingerprint       final: give the policy a Fingerprint function, or the type a method
//	an ID in the call cannot be stored          ErrTypeInvalidCall         final: give the activity an ID that is text
//	policy wants a header, call has none        ErrTypeHeaderRequired      final: register the workflow side too
//	attempt began after its deadline            ErrTypeDeadlinePassed      retried: nothing; seen after resets
//
// In a workflow:
//
//	var app *temporal.ApplicationError
//	if errors.As(err, &app) && app.Type() == dedupe.ErrTypeOutcomeUnknown {
//		// ask a human
//	}
package dedupe
