// Package localredistest gives tests a Redis server each, with a clock that they
// can move, or a cluster.
//
// Servers are private, start within a fraction of a second and are stopped after
// the test. The package must never read REDIS_URL: tests must not find a server
// that somebody cares about.
package localredistest
