// Package localpgtest gives tests an empty Postgres database each.
//
// All tests of a process share one private cluster, started by the first that
// needs it; it ends with the process, and StopAfter makes that orderly. It runs
// without fsync: tests that crash Postgres, or measure it, take a cluster for
// themselves (RequireCluster). If
// DEDUPE_TEST_DATABASE_URL names a server, the databases are created there
// instead, and dropped after the test.
//
// The package must never read DATABASE_URL: tests must not find a database that
// somebody cares about.
package localpgtest
