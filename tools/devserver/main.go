// Command devserver runs a Temporal server for tests and demos: one process, on
// loopback, in memory unless -db names a file.
//
// It prints one line of JSON on standard output when every namespace answers:
//
//	{"address":"127.0.0.1:7233"}
//
// It ends when standard input reaches end of file, so that it never outlives the
// process that holds the other end, and on SIGTERM or SIGINT. It is no server
// for production: one history shard, no authorization, settings for short tests.
//
// It is a module of its own because the server needs older Temporal API
// definitions than the newest SDK, and so does not build beside it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

const (
	// readyTimeout bounds the wait for the namespaces; a loaded two-core machine
	// has needed 20 s.
	readyTimeout = 2 * time.Minute
	// stopTimeout bounds the server's own drain, which waits for long polls. What
	// it would save is in memory or already committed to the file.
	stopTimeout = 2 * time.Second
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "devserver:", err)
		os.Exit(1)
	}
}

func run(args []string, stdin io.Reader, stdout io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		cancel()
	}()

	o, err := parseOptions(args)
	if err != nil {
		return err
	}
	s, err := newServer(o)
	if err != nil {
		return err
	}
	if err := s.start(); err != nil {
		return err
	}
	defer s.stop(stopTimeout)

	ready, cancelReady := context.WithTimeout(ctx, readyTimeout)
	defer cancelReady()
	if err := s.waitReady(ready); err != nil {
		if ctx.Err() != nil {
			return nil // told to end before the server was up
		}
		return err
	}
	if err := json.NewEncoder(stdout).Encode(map[string]string{"address": s.address}); err != nil {
		return fmt.Errorf("print the address: %w", err)
	}
	<-ctx.Done()
	return nil
}

// options are the command's flags.
type options struct {
	address    string
	namespaces []string
	db         string
	logLevel   string
}

func parseOptions(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("devserver", flag.ContinueOnError)
	flags.StringVar(&o.address, "address", "127.0.0.1:0", "`host:port` of the frontend; the host is an IP address, port 0 takes a free one")
	flags.Func("namespace", "namespace to create, repeated or separated by commas (default \"default\")", func(v string) error {
		for name := range strings.SplitSeq(v, ",") {
			if name = strings.TrimSpace(name); name == "" {
				return errors.New("empty name")
			}
			o.namespaces = append(o.namespaces, name)
		}
		return nil
	})
	flags.StringVar(&o.db, "db", "", "SQLite `file` to keep the state in; empty keeps it in memory")
	flags.StringVar(&o.logLevel, "log-level", "error", "lowest `level` of the server's log, written to standard error")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if len(o.namespaces) == 0 {
		o.namespaces = []string{"default"}
	}
	return o, nil
}
