// Package config reads policies from a file of their own, dedupe.yaml, so that
// operators can review and change them apart from code. It knows the file's
// form, what may stand in it, and how it joins the policies that code declares;
// it must not know workers, stores or what is decided about a record.
//
// A file's life: [Load] or [Parse] reads and validates it as a whole and reports
// all that is wrong, each with its line; [Config.Apply] joins it with a worker's
// options; [Config.Explain] tells what is in force and where it comes from. A
// Config does not change, and does not watch its file.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
)

// Config is the policies of one file. Make one with [Load] or [Parse].
type Config struct {
	file       string
	defaults   section
	activities []section // in the order of the file
}

// section is one block of settings: the defaults, or an activity type's.
type section struct {
	name     string
	path     string // as problems name it
	at       position
	settings map[string]setting
	// partial: not all of the block could be read, and what is not among the settings
	// may be what was meant.
	partial bool
}

// knows tells whether it is known what the section says of a field, if anything.
func (s section) knows(field string) bool {
	_, says := s.settings[field]
	return says || !s.partial
}

// setting is one value of a section.
type setting struct {
	at    position
	apply func(*activity.Policy)
}

// position is a place in the file, counted from 1.
type position struct{ line, column int }

// Load reads a file. Its error is an [*Error] with every problem of the file, or
// says why the file cannot be read.
func Load(path string) (*Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("dedupe: read the configuration: %w", err)
	}
	return Parse(path, text)
}

// Parse reads the text of a file that was read by other means; name stands for
// it in problems. Its error is an [*Error] with every problem of the text.
func Parse(name string, text []byte) (*Config, error) {
	if name == "" {
		return nil, errors.New("dedupe: config.Parse: the name is empty; problems are told by it")
	}
	r := reader{config: &Config{file: name}, error: &Error{File: name}}
	r.read(bytes.TrimPrefix(text, []byte("\ufeff"))) // the mark of Windows' editors
	if len(r.error.Problems) > 0 {
		return nil, r.error.sorted()
	}
	return r.config, nil
}

// File returns the name of the file.
func (c *Config) File() string { return c.file }

// Activities returns the activity types that the file names, sorted, with
// [activity.AnyActivity] last if it is among them.
func (c *Config) Activities() []string {
	names := make([]string, 0, len(c.activities))
	for _, s := range c.activities {
		names = append(names, s.name)
	}
	slices.SortFunc(names, func(a, b string) int {
		switch activity.AnyActivity {
		case a:
			return 1
		case b:
			return -1
		}
		return strings.Compare(a, b)
	})
	return names
}

// section returns what the file says of an activity type by its own name.
func (c *Config) section(name string) (section, bool) {
	i := slices.IndexFunc(c.activities, func(s section) bool { return s.name == name })
	if i < 0 {
		return section{}, false
	}
	return c.activities[i], true
}

// place is a position as people and editors read it.
func (c *Config) place(p position) string { return fmt.Sprintf("%s:%d", c.file, p.line) }
