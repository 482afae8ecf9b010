package migrations

import (
	"context"
	"io/fs"
	"strings"
)

// Set lets tests migrate with files of their own.
type Set struct{ set set }

// NewSet returns a set of the files in a directory.
func NewSet(files fs.FS) Set { return Set{set{files: files}} }

// Up is [Up] with the set's files.
func (s Set) Up(ctx context.Context, databaseURL string, options Options) (Result, error) {
	return s.set.run(ctx, DirectionUp, databaseURL, options)
}

// Down is [Down] with the set's files.
func (s Set) Down(ctx context.Context, databaseURL string, options Options) (Result, error) {
	return s.set.run(ctx, DirectionDown, databaseURL, options)
}

// ReadStatus is [ReadStatus] with the set's files.
func (s Set) ReadStatus(ctx context.Context, databaseURL string, options Options) (Status, error) {
	return s.set.readStatus(ctx, databaseURL, options)
}

// SQL is [SQL] with the set's files.
func (s Set) SQL(direction Direction, options Options) (string, error) {
	return s.set.sql(direction, options)
}

// Columns are the columns of the shape, with their tables.
func Columns() (columns []string) {
	for _, s := range shape {
		for column := range strings.FieldsSeq(s.columns) {
			columns = append(columns, s.table+"."+column)
		}
	}
	return columns
}
