package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong with a file, or worth a warning.
type Problem struct {
	// Line and Column are where it stands, counted from 1.
	Line   int `json:"line"`
	Column int `json:"column"`
	// Field is the path of the field, such as activities.Charge.retention. It is
	// empty where the text is no YAML.
	Field string `json:"field"`
	// Text says what is wrong and what to do.
	Text string `json:"text"`
}

// String returns the problem without its file.
func (p Problem) String() string {
	if p.Field == "" {
		return fmt.Sprintf("%d:%d: %s", p.Line, p.Column, p.Text)
	}
	return fmt.Sprintf("%d:%d: %s: %s", p.Line, p.Column, p.Field, p.Text)
}

// Error is what is wrong with a file, found with errors.As.
type Error struct {
	// File is the file's name.
	File string
	// Problems are at least one, in the order of the file.
	Problems []Problem
}

// Error names file, line, column and field of every problem, a line for each.
func (e *Error) Error() string {
	if len(e.Problems) == 1 {
		return "dedupe: " + e.File + ":" + e.Problems[0].String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "dedupe: %s has %d problems:", e.File, len(e.Problems))
	for _, p := range e.Problems {
		fmt.Fprintf(&b, "\n  %s:%s", e.File, p)
	}
	return b.String()
}

// sorted puts the problems in the order of the file.
func (e *Error) sorted() *Error {
	slices.SortStableFunc(e.Problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Text, b.Text))
	})
	return e
}

func (e *Error) add(at position, field, format string, args ...any) {
	e.Problems = append(e.Problems, Problem{
		Line: at.line, Column: at.column, Field: field, Text: fmt.Sprintf(format, args...),
	})
}
