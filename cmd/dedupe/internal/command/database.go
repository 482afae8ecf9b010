package command

import (
	"github.com/spf13/cobra"
)

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

// resolve returns the URL from the flag or the environment.
func (f *databaseFlags) resolve(env Env) (string, error) {
	if f.url != "" {
		return f.url, nil
	}
	if url := env.Getenv("DATABASE_URL"); url != "" {
		return url, nil
	}
	return "", usagef("dedupe: no database: give --database-url, or set DATABASE_URL")
}
