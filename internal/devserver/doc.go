// Package devserver finds or starts a Temporal server for tests, examples and
// demos.
//
// Start takes, in this order, the server that TEMPORAL_ADDRESS names; the
// temporal command line on PATH; and a server built from tools/devserver, a
// module of its own, into the user's cache directory. That build takes minutes
// once per version of its sources and milliseconds afterwards. A server that was
// started ends with the process that started it, even by SIGKILL.
//
// The package must not know what runs on the server: no workflows, no worker, no
// dedupe.
package devserver
