// Package remedy writes the commands that errors tell people to run. It must not
// know what went wrong.
package remedy

import (
	"regexp"
	"strings"
)

// Up is the command that applies migrations, with more flags if there are any.
func Up(schema string, flags ...string) string {
	return "`" + strings.Join(append([]string{"dedupe migrate up" + flag(schema)}, flags...), " ") + "`"
}

// Create is the command that makes what is missing although its migration is
// applied: every statement of the files is IF NOT EXISTS, and migrate up does not
// look at what it has done before.
func Create(schema string) string {
	return "`dedupe migrate print" + flag(schema) + ` | psql -v ON_ERROR_STOP=1 "$DATABASE_URL"` + "`"
}

// Print is the command that prints the files, for psql.
func Print(schema string) string { return "`dedupe migrate print" + flag(schema) + "`" }

var bare = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

func flag(schema string) string {
	switch {
	case schema == "":
		return ""
	case bare.MatchString(schema):
		return " --schema " + schema
	}
	return " --schema '" + strings.ReplaceAll(schema, "'", `'\''`) + "'"
}
