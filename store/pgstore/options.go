package pgstore

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// maxIdentifier is the length at which Postgres cuts names, silently.
	maxIdentifier = 63

	defaultCallTimeout = 5 * time.Second
)

// Options are the choices of [New]. The zero value is useful.
type Options struct {
	// Schema is where the tables live. The name is quoted, so it is
	// case-sensitive. Defaults to wherever the connection's search_path finds
	// them.
	Schema string

	// CallTimeout bounds each call of the store with all of its retries, also
	// where the caller's context has no deadline or a later one. Defaults to
	// 5 seconds.
	CallTimeout time.Duration

	// MaxRetries is how often one call repeats a statement that failed for a
	// passing reason: a lost connection, a server that restarts, a deadlock, a
	// serialization failure, a statement or lock timeout. Repetitions are safe,
	// since a record's token tells what was carried out before. Negative means
	// never. Defaults to as often as CallTimeout allows.
	MaxRetries int
}

// validate reports the first field that cannot be used, by name.
func (o Options) validate() error {
	fault := func(field, text string) error {
		return fmt.Errorf("dedupe: pgstore: Options.%s: %s", field, text)
	}
	switch {
	case len(o.Schema) > maxIdentifier:
		return fault("Schema", fmt.Sprintf("%d bytes long, Postgres keeps %d", len(o.Schema), maxIdentifier))
	case !utf8.ValidString(o.Schema) || strings.ContainsRune(o.Schema, 0):
		return fault("Schema", "must be UTF-8 without zero bytes")
	case o.CallTimeout < 0:
		return fault("CallTimeout", "negative")
	case o.CallTimeout > 0 && o.CallTimeout < time.Millisecond:
		return fault("CallTimeout", "below one millisecond; no call could be answered")
	}
	return nil
}

// withDefaults returns the options with every zero field filled in but Schema
// and MaxRetries, whose zero value is their meaning.
func (o Options) withDefaults() Options {
	if o.CallTimeout == 0 {
		o.CallTimeout = defaultCallTimeout
	}
	return o
}
