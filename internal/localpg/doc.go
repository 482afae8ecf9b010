// Package localpg runs a private Postgres cluster for as long as somebody needs
// one: tests, examples, benchmarks.
//
// A cluster has a data directory, a random password and a free loopback port of
// its own, keeps fsync on, and ends with the process that started it, even by
// SIGKILL. It can be stopped as by a crash and started again over the same data.
// Started by root, it runs as the user postgres.
//
// The package must not know what is stored in the databases, and never reads
// DATABASE_URL or any other name of a database somebody cares about: callers
// pass those in.
package localpg
