package localpg

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Database creates an empty database and returns its URL. An empty name stands
// for a random one.
func (c *Cluster) Database(ctx context.Context, name string) (string, error) {
	return CreateDatabase(ctx, c.URL(), name)
}

// CreateDatabase creates an empty database on the server that serverURL names,
// whose user must be allowed to, and returns serverURL with the new database in
// place of its own. An empty name stands for a random one.
func CreateDatabase(ctx context.Context, serverURL, name string) (string, error) {
	u, err := parseURL(serverURL)
	if err != nil {
		return "", err
	}
	if name == "" {
		name = "dedupe_" + strings.ToLower(rand.Text())
	}
	// template0 is what nobody can be connected to, which would make this fail.
	if err := execute(ctx, serverURL, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize()+" TEMPLATE template0"); err != nil {
		return "", fmt.Errorf("localpg: create the database %s: %w", name, err)
	}
	u.Path = "/" + name
	return u.String(), nil
}

// DropDatabase drops the database that databaseURL names, by way of the one that
// serverURL names, and ends its sessions.
func DropDatabase(ctx context.Context, serverURL, databaseURL string) error {
	u, err := parseURL(databaseURL)
	if err != nil {
		return err
	}
	name := strings.TrimPrefix(u.Path, "/")
	if err := execute(ctx, serverURL, "DROP DATABASE IF EXISTS "+pgx.Identifier{name}.Sanitize()+" WITH (FORCE)"); err != nil {
		return fmt.Errorf("localpg: drop the database %s: %w", name, err)
	}
	return nil
}

func parseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql") {
		// The text is not quoted: it can hold a password.
		return nil, fmt.Errorf("localpg: the address of the database is no URL like postgres://user:password@host:5432/name?sslmode=disable")
	}
	return u, nil
}

func execute(ctx context.Context, url, statement string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, statement)
	return err
}
