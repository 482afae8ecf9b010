package main

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg"
	"github.com/seed5aa7bdf6/temporal-dedupe/migrations"
)

// server is the private Postgres that everything runs on.
type server struct {
	cluster *localpg.Cluster
	// admin prepares tables and reads statistics, beside the contenders' own
	// connections.
	admin *pgxpool.Pool
	// pgbench is the path of the program.
	pgbench string
	// postmaster is the process that all of the server's processes are
	// children of.
	postmaster int
}

func startServer(ctx context.Context) (*server, error) {
	cluster, err := localpg.Start(ctx, localpg.Options{Settings: recommended(memoryBytes())})
	if err != nil {
		return nil, err
	}
	s := &server{cluster: cluster}
	if err := s.connect(ctx); err != nil {
		_ = s.stop()
		return nil, fmt.Errorf("bench: server: %w", err)
	}
	return s, nil
}

func (s *server) connect(ctx context.Context) error {
	var err error
	if s.admin, err = pgxpool.New(ctx, s.cluster.URL()); err != nil {
		return err
	}
	var dir string
	if err := s.admin.QueryRow(ctx, "SELECT setting FROM pg_config WHERE name = 'BINDIR'").Scan(&dir); err != nil {
		return err
	}
	s.pgbench = filepath.Join(dir, "pgbench")
	var backend int
	if err := s.admin.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&backend); err != nil {
		return err
	}
	s.postmaster = parent(backend)
	return nil
}

func (s *server) stop() error {
	if s.admin != nil {
		s.admin.Close()
	}
	return s.cluster.Stop()
}

// schema makes the tables anew in a schema of their own.
func (s *server) schema(ctx context.Context, name string) error {
	if err := s.exec(ctx, "DROP SCHEMA IF EXISTS "+name+" CASCADE"); err != nil {
		return err
	}
	_, err := migrations.Up(ctx, s.cluster.URL(), migrations.Options{Schema: name})
	return err
}

// pool opens the connections that a contender is given.
func (s *server) pool(ctx context.Context) (*pgxpool.Pool, error) {
	u, err := url.Parse(s.cluster.URL())
	if err != nil {
		return nil, err
	}
	q := u.Query()
	q.Set("pool_max_conns", fmt.Sprint(poolConns))
	u.RawQuery = q.Encode()
	return pgxpool.New(ctx, u.String())
}

func (s *server) exec(ctx context.Context, sql string, args ...any) error {
	_, err := s.admin.Exec(ctx, sql, args...)
	return err
}

// calm writes what earlier turns have left in memory, so that nobody pays for
// somebody else's pages.
func (s *server) calm(ctx context.Context) error { return s.exec(ctx, "CHECKPOINT") }
