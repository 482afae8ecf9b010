// Package layers holds the rules about the shape of this module, as tests:
// which package may import which, what a program must not have to compile, and
// what every package and file owes its reader.
//
// The table of imports is in rules_test.go, with a reason for each line. It
// must not know what any package does. The linter's configuration repeats the
// table where it can; this package needs no linter.
package layers
