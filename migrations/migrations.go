// Package migrations creates, upgrades and removes the tables that hold the
// records, from numbered SQL files that are embedded in the program.
//
// The files can be applied in three ways, mixed in any order and repeated any
// number of times: by [Up], by the command line (dedupe migrate up), or by
// psql -f (see [SQL], or the files themselves). Each file is one transaction:
// it happens as a whole or not at all, and it can be run again.
//
// Two tables keep count. idempotency_schema is written by the files, whoever
// runs them; it alone says which version the schema has, to this package and to
// the store. idempotency_schema_migrations belongs to golang-migrate, which
// this package runs on; it is named so that it never meets the
// schema_migrations of the application beside it, and when the two disagree it
// is corrected. It stays behind, empty, when everything else was taken back.
//
// A new migration is a pair of files, 00000N_name.up.sql and .down.sql, each
// with its own BEGIN and COMMIT; the first inserts its number into
// idempotency_schema, the second deletes it. A file that was released never
// changes.
//
// The package knows versions and connections. It must not know what a record
// means, nor import the stores: a program that only reads and writes records
// does not compile golang-migrate.
package migrations

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/golang-migrate/migrate/v4/source"
)

//go:embed *.sql
var embedded embed.FS

// standard is what every exported function works with; tests have sets of
// their own.
var standard = set{files: embedded, shaped: true}

// Migration is one numbered step of the schema.
type Migration struct {
	// Version is the number that starts the file's name.
	Version int `json:"version"`
	// Name is the rest of the file's name, without direction and suffix. It
	// is empty for a version that this program does not know.
	Name string `json:"name"`
}

// String returns the migration as its files are named, 000001_name.
func (m Migration) String() string {
	return fmt.Sprintf("%06d_%s", m.Version, m.Name)
}

// All returns the migrations that this program knows, oldest first.
func All() []Migration { return standard.all() }

// Latest returns the version that the tables have after [Up].
func Latest() int { return standard.latest() }

// set is a directory of migration files.
type set struct {
	files  fs.FS
	shaped bool // its tables are those of shape
}

func (s set) all() []Migration {
	names, err := fs.Glob(s.files, "*.up.sql")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	found := make([]Migration, 0, len(names))
	for _, name := range names {
		parsed, err := source.DefaultParse(name)
		if err != nil {
			continue
		}
		found = append(found, Migration{Version: int(parsed.Version), Name: parsed.Identifier})
	}
	slices.SortFunc(found, func(a, b Migration) int { return cmp.Compare(a.Version, b.Version) })
	return found
}

func (s set) latest() int {
	all := s.all()
	if len(all) == 0 {
		return 0
	}
	return all[len(all)-1].Version
}

// find returns the migration of a version, without a name if it is unknown.
func (s set) find(version int) Migration {
	for _, m := range s.all() {
		if m.Version == version {
			return m
		}
	}
	return Migration{Version: version}
}

// read returns the text of one migration's file.
func (s set) read(m Migration, d Direction) (string, error) {
	text, err := fs.ReadFile(s.files, fmt.Sprintf("%s.%s.sql", m, d))
	if err != nil {
		return "", fmt.Errorf("dedupe: migrations: %w", err)
	}
	return string(text), nil
}

// Direction says which of a migration's two files is meant.
type Direction string

const (
	// DirectionUp creates and upgrades.
	DirectionUp Direction = "up"
	// DirectionDown takes back what the up file did, and drops the records.
	DirectionDown Direction = "down"
)

var errDirection = errors.New(`dedupe: migrations: the direction must be "up" or "down"`)
