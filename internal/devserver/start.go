package devserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/child"
)

// stopGrace is more than tools/devserver gives itself to drain.
const stopGrace = 5 * time.Second

// startCLI starts the development server of the temporal command line.
func startCLI(ctx context.Context, o Options, path string) (*Server, error) {
	return start(ctx, o, OriginCLI, func() (*child.Process, func() string, error) {
		port, err := child.FreePort()
		if err != nil {
			return nil, nil, err
		}
		p, err := child.Start(child.Options{
			Path: path,
			Args: []string{
				"server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", strconv.Itoa(port),
				"--namespace", o.Namespace, "--log-level", "error",
			},
			Stderr: o.ServerLog, Grace: stopGrace,
		})
		return p, func() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }, err
	})
}

// startBuilt starts a build of tools/devserver.
func startBuilt(ctx context.Context, o Options, path string) (*Server, error) {
	return start(ctx, o, OriginBuilt, func() (*child.Process, func() string, error) {
		var line addressLine
		p, err := child.Start(child.Options{
			Path: path, Args: []string{"-namespace", o.Namespace},
			Stdout: &line, Stderr: o.ServerLog, Grace: stopGrace,
		})
		return p, line.address, err
	})
}

// start launches a server, again if it ends at once, and waits for it to answer.
func start(ctx context.Context, o Options, origin string, launch func() (*child.Process, func() string, error)) (*Server, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, o.StartTimeout, fmt.Errorf("no answer within Options.StartTimeout (%s)", o.StartTimeout))
	defer cancel()
	var server *Server
	err := child.Attempt(func() error {
		p, address, err := launch()
		if err != nil {
			return err
		}
		if err := p.Await(ctx, pollInterval, func(ctx context.Context) error { return answersAt(ctx, address(), o.Namespace) }); err != nil {
			return err
		}
		server = &Server{address: address(), namespace: o.Namespace, origin: origin, process: p}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("devserver: %s: %w", origin, err)
	}
	return server, nil
}

// addressLine is a writer for the line of JSON in which tools/devserver prints
// its address.
type addressLine struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *addressLine) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

// address returns the address, or "" until the line is complete.
func (l *addressLine) address() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	line, _, complete := bytes.Cut(l.buf.Bytes(), []byte("\n"))
	var v struct {
		Address string `json:"address"`
	}
	if !complete || json.Unmarshal(line, &v) != nil {
		return ""
	}
	return v.Address
}
