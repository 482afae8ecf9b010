// Package workflows is the workflow side: it counts the activity calls of a run
// and writes what it knows about each call into a header, from which the
// activity side derives the call's key. It supplies facts only. It must not know
// policies, keys or stores, and imports neither activity nor a driver.
//
// The life of a count: a workflow instance starts with empty counters when it is
// loaded and advances them as the workflow code makes its calls, so a replay
// rebuilds exactly what was there. The interceptor emits no command, does no
// input or output and reads no clock; it can be registered, removed and
// registered again under running workflows.
//
// Every call of a regular activity takes the next number of its activity type,
// also a call that is exempt, named or counted otherwise, one that then fails
// validation, and the ones made before the interceptor was registered. Marking
// a call with one of the With… functions therefore changes no other call.
//
//	ctx = workflows.WithStepKey(ctx, "deposit")
//	err := workflow.ExecuteActivity(ctx, Charge, order).Get(ctx, nil)
package workflows
