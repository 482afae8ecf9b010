package localpg

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/child"
)

const superuser = "postgres"

// Cluster is a private Postgres cluster. Its methods may be called from any goroutine.
type Cluster struct {
	options  Options
	binDir   string
	dir      string // holds the data directory
	user     *child.User
	password string
	port     int

	mu      sync.Mutex
	process *child.Process // nil while stopped
	removed bool
}

// Start creates a cluster in a temporary directory and returns it when it
// answers. It fails with ErrNoPostgres if the server's programs are not found.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	binDir, err := findBinDir(o.BinDir)
	if err != nil {
		return nil, err
	}
	u, err := owner()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.StartTimeout, fmt.Errorf("no answer within Options.StartTimeout (%s)", o.StartTimeout))
	defer cancel()

	c := &Cluster{options: o, binDir: binDir, user: u, password: rand.Text()}
	if c.dir, err = os.MkdirTemp("", "localpg-"); err != nil {
		return nil, fmt.Errorf("localpg: directory for the cluster: %w", err)
	}
	if err := c.create(ctx); err != nil {
		return nil, errors.Join(err, os.RemoveAll(c.dir))
	}
	return c, nil
}

// create runs initdb and starts the server on a free port.
func (c *Cluster) create(ctx context.Context) error {
	if err := c.initdb(ctx); err != nil {
		return err
	}
	return child.Attempt(func() (err error) {
		if c.port, err = child.FreePort(); err != nil {
			return fmt.Errorf("localpg: %w", err)
		}
		return c.launch(ctx)
	})
}

func (c *Cluster) initdb(ctx context.Context) error {
	passwordFile := filepath.Join(c.dir, "password")
	if err := os.WriteFile(passwordFile, []byte(c.password), 0o600); err != nil {
		return fmt.Errorf("localpg: password of the cluster: %w", err)
	}
	if c.user != nil {
		for _, path := range []string{c.dir, passwordFile} {
			if err := os.Chown(path, int(c.user.UID), int(c.user.GID)); err != nil {
				return fmt.Errorf("localpg: give the cluster's directory to the user %s: %w", serverUser, err)
			}
		}
	}
	p, err := child.Start(child.Options{
		Path: filepath.Join(c.binDir, "initdb"),
		Args: []string{
			"--pgdata", c.dataDir(), "--username", superuser, "--pwfile", passwordFile,
			"--auth", "scram-sha-256", "--encoding", "UTF8", "--no-locale", "--no-sync",
		},
		Dir: c.dir, User: c.user, OrphanDir: c.dir,
	})
	if err != nil {
		return fmt.Errorf("localpg: %w", err)
	}
	if err := p.Wait(ctx); err != nil {
		return fmt.Errorf("localpg: initdb in %s (TMPDIR chooses the place): %w", c.dir, err)
	}
	return nil
}

func (c *Cluster) dataDir() string { return filepath.Join(c.dir, "data") }

// URL returns the connection string of the superuser and the database postgres.
// It does not change over restarts, and must not be printed: it holds the password.
func (c *Cluster) URL() string { return c.databaseURL("postgres") }

func (c *Cluster) databaseURL(name string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(superuser, c.password),
		Host:     net.JoinHostPort("127.0.0.1", strconv.Itoa(c.port)),
		Path:     "/" + name,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}
