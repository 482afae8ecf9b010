package child

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Options describes a program to start.
type Options struct {
	// Path is the program. A name without a slash is looked up on PATH. Required.
	Path string
	// Args are the program's arguments, without its name.
	Args []string
	// Env is added to the environment of this process, as KEY=value, for the
	// program alone: the shell that watches over it does not see it, so that a
	// library preloaded into the program is not preloaded into the shell.
	Env []string
	// Dir is the working directory. Defaults to that of this process.
	Dir string
	// Stdout and Stderr receive the program's output. Nil drops it; Process.Output
	// has the end of it in any case. The same writer may be given for both.
	Stdout, Stderr io.Writer
	// User runs the program as another user; only root may ask for it.
	// Defaults to the user of this process.
	User *User
	// StopSignal is what Stop sends, and what the program gets when this process
	// dies: "TERM", "INT" or "QUIT". A program notices the last two only if it
	// installs a handler for them: like any background job of a shell it starts
	// with both ignored. Defaults to "TERM".
	StopSignal string
	// Grace is how long the program may take to end before it is killed.
	// Defaults to 10 seconds.
	Grace time.Duration
	// OrphanDir is a directory to remove, after the program has ended, when this
	// process died without stopping it. Empty removes nothing.
	OrphanDir string
}

// User is a user and group of the operating system, by number.
type User struct {
	// UID is the user's number.
	UID uint32
	// GID is the number of the user's primary group.
	GID uint32
}

const defaultGrace = 10 * time.Second

func (o *Options) validate() error {
	if o.Path == "" {
		return errors.New("child: Options.Path is empty")
	}
	switch o.StopSignal {
	case "":
		o.StopSignal = "TERM"
	case "TERM", "INT", "QUIT":
	default:
		return fmt.Errorf("child: Options.StopSignal is %q, want TERM, INT or QUIT", o.StopSignal)
	}
	if o.Grace < 0 {
		return fmt.Errorf("child: Options.Grace is %s, want no less than 0", o.Grace)
	}
	o.Grace = cmp.Or(o.Grace, defaultGrace)
	if o.User != nil && os.Geteuid() != 0 {
		return errors.New("child: Options.User is set, but only root can start programs as another user")
	}
	return nil
}
