// Package child starts programs that end with the process that started them,
// however that process ends: by returning, by a panic, or by SIGKILL.
//
// A child runs under a few lines of shell (supervise.sh) that hold the reading
// end of a pipe whose writing end only the parent has. When the parent is gone
// the pipe reaches end of file, and the shell stops the child, first with the
// signal it asked for, then with SIGKILL, and removes the directory it was given.
// On Linux the kernel also signals the shell when the parent dies. A child that
// watches its own standard input sees the same end of file.
//
// The package must not know what the programs do: no database, no Temporal.
package child
