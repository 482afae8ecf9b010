package command

import (
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/pgurl"
)

// maxIdentifier is the length at which Postgres cuts names, silently.
const maxIdentifier = 63

// databaseFlags say which tables are meant.
type databaseFlags struct {
	url    string
	schema string
}

// register adds the flags to a command and to those under it.
func (f *databaseFlags) register(c *cobra.Command) {
	flags := c.PersistentFlags()
	flags.StringVar(&f.url, "database-url", "",
		"Postgres `URL`, postgres://user:password@host:5432/database;\ndefaults to the environment variable DATABASE_URL,\nwhich unlike a flag is not shown in process lists")
	flags.StringVar(&f.schema, "schema", "",
		"Postgres schema of the tables; defaults to the first one\non the connection's search_path, most often public")
}

// resolve returns the URL from the flag or the environment, and what it says. It
// refuses a URL that cannot be understood, without showing it, and a schema that
// cannot be.
func (f *databaseFlags) resolve(env Env) (string, *pgxpool.Config, error) {
	if err := f.validateSchema(); err != nil {
		return "", nil, err
	}
	url := f.url
	if url == "" {
		url = env.Getenv("DATABASE_URL")
	}
	if url == "" {
		return "", nil, usagef("dedupe: no database: give --database-url, or set DATABASE_URL")
	}
	config, err := pgurl.Parse(url)
	if err != nil {
		return "", nil, usagef("dedupe: %w", err)
	}
	return url, config, nil
}

func (f *databaseFlags) validateSchema() error {
	if len(f.schema) > maxIdentifier {
		return usagef("dedupe: --schema is %d bytes long, Postgres keeps %d", len(f.schema), maxIdentifier)
	}
	return nil
}
