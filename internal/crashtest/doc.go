// Package crashtest proves the promise table by killing real worker processes.
//
// A run has cells: a window in the life of a call, a takeover policy, and a
// provider that honours idempotency keys or ignores them. A cell has a task
// queue, a worker process and several orders. When the designated order reaches
// the window, its worker kills itself with SIGKILL and takes the neighbours with
// it; another worker starts at once, and all orders run to their end. Then three
// counts are compared that must agree: charges at the provider, records in the
// database, results of the workflows.
//
// A worker process is the running program once more: [WorkerMain] tells it by an
// environment variable. The parent is everything else: the providers, the
// supervisor, the one who grants each death, so that none happens twice and one
// that did not happen is noticed.
//
// [Run] is what people see. [Bench] and [Lane] are the parts that it is made of,
// for other faults. The package must not know how a promise is kept: it judges
// by what the provider, the table and Temporal show.
package crashtest
