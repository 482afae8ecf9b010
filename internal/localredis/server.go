package localredis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/child"
)

const (
	// pollInterval is how often launch tries to connect.
	pollInterval = 10 * time.Millisecond
	// stopGrace is what writing the last of the append-only file may take.
	stopGrace = 10 * time.Second
)

var errRemoved = errors.New("localredis: the server was stopped for good")

// Server is a private Redis server. Its methods may be called from any goroutine.
type Server struct {
	options  Options
	dir      string
	password string
	port     int
	busPort  int // of a member of a cluster; 0 otherwise

	mu      sync.Mutex
	process *child.Process // nil while stopped
	removed bool
}

// Start creates a server in a temporary directory and returns it when it
// answers. It fails with [ErrNoRedis] if the program is not found.
func Start(ctx context.Context, o Options) (*Server, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	return start(ctx, o, rand.Text(), false)
}

// start starts a server with validated options.
func start(ctx context.Context, o Options, password string, member bool) (*Server, error) {
	dir, err := os.MkdirTemp("", "localredis-")
	if err != nil {
		return nil, fmt.Errorf("localredis: directory for the server: %w", err)
	}
	s := &Server{options: o, dir: dir, password: password}
	err = child.Attempt(func() error {
		if err := s.choosePorts(member); err != nil {
			return err
		}
		return s.launch(ctx)
	})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

func (s *Server) choosePorts(member bool) (err error) {
	if s.port, err = child.FreePort(); err == nil && member {
		s.busPort, err = child.FreePort()
	}
	if err != nil {
		return fmt.Errorf("localredis: %w", err)
	}
	return nil
}

// launch starts the program and waits for an answer.
func (s *Server) launch(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.options.StartTimeout, fmt.Errorf("no answer within Options.StartTimeout (%s)", s.options.StartTimeout))
	defer cancel()
	own := map[string]string{"port": strconv.Itoa(s.port)}
	if s.busPort != 0 {
		own["cluster-enabled"], own["cluster-port"] = "yes", strconv.Itoa(s.busPort)
	}
	config, err := s.options.writeConfig(s.dir, s.password, own)
	if err != nil {
		return err
	}
	p, err := child.Start(child.Options{
		Path: s.options.Path, Args: []string{config}, Env: s.options.Env, Dir: s.dir,
		Stdout: s.options.Log, Stderr: s.options.Log, Grace: stopGrace, OrphanDir: s.dir,
	})
	if err != nil {
		return fmt.Errorf("localredis: %w", err)
	}
	if err := p.Await(ctx, pollInterval, s.ping); err != nil {
		return fmt.Errorf("localredis: %w", err)
	}
	s.process = p
	return nil
}

// ping asks for an answer, once there is somebody to ask: a client that cannot
// connect says so in the log, and does not try again for a second.
func (s *Server) ping(ctx context.Context) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.Addr())
	if err != nil {
		return err
	}
	_ = conn.Close()
	client := s.client()
	defer func() { _ = client.Close() }()
	return client.Ping(ctx).Err()
}

// client returns a client that makes one try.
func (s *Server) client() *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: s.Addr(), Password: s.password, MaxRetries: -1, DialerRetries: 1, PoolSize: 1,
		DisableIdentity: true, ContextTimeoutEnabled: true,
	})
}

// Addr returns the server's host and port. It does not change over restarts.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// URL returns the address for redis.ParseURL. It does not change over restarts,
// and must not be printed: it holds the password.
func (s *Server) URL() string {
	u := url.URL{Scheme: "redis", User: url.UserPassword("", s.password), Host: s.Addr(), Path: "/0"}
	return u.String()
}

// Stop shuts the server down and removes its data. It may be called again, and
// after Kill.
func (s *Server) Stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		s.process.Stop()
		s.process = nil
	}
	s.removed = true
	if err := os.RemoveAll(s.dir); err != nil {
		return fmt.Errorf("localredis: remove the server's data: %w", err)
	}
	return nil
}

// Kill ends the server by SIGKILL and returns when it is gone. What it wrote to
// its append-only file stays for Restart.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		s.process.Kill()
		s.process = nil
	}
}

// Restart starts the server again on the same port and data, after a regular
// shutdown if it still runs.
func (s *Server) Restart(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.removed {
		return errRemoved
	}
	if s.process != nil {
		s.process.Stop()
		s.process = nil
	}
	return s.launch(ctx)
}
