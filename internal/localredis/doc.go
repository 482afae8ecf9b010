// Package localredis runs a private Redis server, or a cluster of three, for as
// long as somebody needs one: tests, examples, benchmarks.
//
// A server has a directory, a random password and a free loopback port of its
// own, keeps an append-only file, and ends with the process that started it, even
// by SIGKILL. It can be killed and started again over the same data.
//
// The package must not know what is stored, and never reads REDIS_URL or any
// other name of a server somebody cares about: callers pass those in.
package localredis
