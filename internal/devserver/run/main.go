// Command run gives a Temporal server to a command, in TEMPORAL_ADDRESS, and
// stops the server when the command has ended:
//
//	go run ./internal/devserver/run go test ./...
//
// That is one server for all test processes instead of one each, and a cold
// build of the server is done before the tests and their timeouts begin. Without
// a command it prints the address and serves until it is interrupted.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/devserver"
)

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

func run(command []string) (int, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := devserver.Options{}
	if len(command) == 0 {
		// A command's own output matters more than a server's complaints about
		// workers that were killed on purpose.
		o.ServerLog = os.Stderr
	}
	s, err := devserver.Start(ctx, o)
	if err != nil {
		return 1, err
	}
	defer s.Stop()
	if len(command) == 0 {
		fmt.Println(s.Address())
		<-ctx.Done()
		return 0, nil
	}

	// The terminal sends an interrupt to the command as well; SIGTERM is passed on.
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), devserver.AddressVar+"="+s.Address(), devserver.NamespaceVar+"="+s.Namespace())
	if err := cmd.Start(); err != nil {
		return 1, fmt.Errorf("devserver: %w", err)
	}
	unwatch := context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(syscall.SIGTERM) })
	defer unwatch()
	err = cmd.Wait()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return max(exit.ExitCode(), 1), nil
	}
	if err != nil {
		return 1, fmt.Errorf("devserver: %w", err)
	}
	return 0, nil
}
