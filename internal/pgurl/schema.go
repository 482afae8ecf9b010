package pgurl

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxIdentifier is the length at which Postgres cuts names, silently.
const maxIdentifier = 63

// SchemaFault says why tables cannot live in a schema of that name, or nothing. The empty
// name stands for the search_path.
func SchemaFault(name string) string {
	switch {
	case len(name) > maxIdentifier:
		return fmt.Sprintf("%d bytes long, Postgres keeps %d", len(name), maxIdentifier)
	case !utf8.ValidString(name) || strings.ContainsRune(name, 0):
		return "must be UTF-8 without zero bytes"
	case strings.HasPrefix(name, "pg_"):
		return "names that begin with pg_ are reserved by Postgres"
	}
	return ""
}
