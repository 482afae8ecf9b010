// Package devservertest gives tests a Temporal server.
//
// All tests of a process share one, started by the first that needs it; it ends
// with the process, and StopAfter makes that orderly. Tests keep apart by task
// queues and workflow IDs of their own: with TEMPORAL_ADDRESS set, the server is
// shared with other processes as well.
//
// The package must not know what the tests run on the server.
package devservertest
