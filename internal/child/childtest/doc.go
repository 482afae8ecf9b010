// Package childtest decides what a test does when a service it needs cannot be
// started: skip on a developer's machine, fail where services are promised.
//
// It must not know which services there are.
package childtest
