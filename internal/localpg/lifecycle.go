package localpg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/child"
)

const (
	// pollInterval is how often launch tries to connect.
	pollInterval = 20 * time.Millisecond
	// stopGrace is what a fast shutdown with its checkpoint may take on a slow disk.
	stopGrace = 30 * time.Second
)

var errRemoved = errors.New("localpg: the cluster was stopped for good")

// launch starts the server and waits for an answer.
func (c *Cluster) launch(ctx context.Context) error {
	args := append([]string{
		"-D", c.dataDir(),
		"-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories=",
		"-p", strconv.Itoa(c.port),
	}, c.options.arguments()...)
	p, err := child.Start(child.Options{
		Path: filepath.Join(c.binDir, "postgres"), Args: args, Env: c.options.Env, Dir: c.dir,
		Stdout: c.options.Log, Stderr: c.options.Log,
		User: c.user, StopSignal: "INT", Grace: stopGrace, OrphanDir: c.dir,
	})
	if err != nil {
		return fmt.Errorf("localpg: %w", err)
	}
	err = p.Await(ctx, pollInterval, func(ctx context.Context) error {
		conn, err := pgx.Connect(ctx, c.URL())
		if err != nil {
			return err
		}
		return conn.Close(ctx)
	})
	if err != nil {
		return fmt.Errorf("localpg: %w", err)
	}
	c.process = p
	return nil
}

// Stop shuts the server down, ends its sessions and removes the cluster. It may
// be called again, and after Kill.
func (c *Cluster) Stop() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shutDown()
	c.removed = true
	if err := os.RemoveAll(c.dir); err != nil {
		return fmt.Errorf("localpg: remove the cluster: %w", err)
	}
	return nil
}

// Kill stops the server as a crash does, without a checkpoint (pg_ctl stop -m
// immediate), and returns when it is gone. The data stays for Restart.
func (c *Cluster) Kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process != nil {
		c.process.Signal(syscall.SIGQUIT)
		c.shutDown()
	}
}

// Restart starts the server again on the same port and data, after a regular
// shutdown if it still runs. If env is given it takes the place of Options.Env
// from now on, so that the clock can jump while the server is away.
func (c *Cluster) Restart(ctx context.Context, env ...string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.removed {
		return errRemoved
	}
	c.shutDown()
	if len(env) > 0 {
		c.options.Env = env
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.options.StartTimeout, fmt.Errorf("no answer within Options.StartTimeout (%s)", c.options.StartTimeout))
	defer cancel()
	return c.launch(ctx)
}

func (c *Cluster) shutDown() {
	if c.process != nil {
		c.process.Stop()
		c.process = nil
	}
}
