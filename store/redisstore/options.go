package redisstore

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

const (
	defaultKeyPrefix   = "dedupe:"
	defaultCallTimeout = 5 * time.Second

	// maxPrefixBytes keeps keys readable; a record's own has up to 512 bytes.
	maxPrefixBytes = 64
)

// Options are the choices of [New]. The zero value is useful.
type Options struct {
	// KeyPrefix stands before every key, so that the records share a Redis with
	// other data, and with other records: at most 64 bytes, without braces, which
	// would put all records on one node of a cluster. Defaults to "dedupe:".
	KeyPrefix string

	// CallTimeout bounds each call of the store, with all the retries that the
	// client makes, also where the caller's context has no deadline or a later
	// one. What waits for an answer then is left behind until the client's own
	// ReadTimeout, or ended at once if the client has ContextTimeoutEnabled.
	// Defaults to 5 seconds.
	CallTimeout time.Duration

	// Durable is your word that this deployment loses nothing that it has
	// answered: every write is on disk before it is answered (appendfsync always)
	// and no failover promotes a replica that may lack it. The store cannot see
	// whether that is so. Without it, reservations under store.Refuse and
	// store.Verify are refused. There is no store.Admin for Redis: a record that is
	// held because nobody knows its outcome stays so. Defaults to false.
	Durable bool
}

// validate reports the first field that cannot be used, by name.
func (o Options) validate() error {
	fault := func(field, text string) error {
		return fmt.Errorf("dedupe: redisstore: Options.%s: %s", field, text)
	}
	switch {
	case len(o.KeyPrefix) > maxPrefixBytes:
		return fault("KeyPrefix", fmt.Sprintf("%d bytes long, at most %d", len(o.KeyPrefix), maxPrefixBytes))
	case strings.ContainsAny(o.KeyPrefix, "{}"):
		return fault("KeyPrefix", "has braces, which would put all records on one node of a cluster")
	case o.CallTimeout < 0:
		return fmt.Errorf("dedupe: redisstore: Options.CallTimeout is negative: %v", o.CallTimeout)
	case o.CallTimeout > 0 && o.CallTimeout < time.Millisecond:
		return fault("CallTimeout", "below one millisecond; no call could be answered")
	}
	return nil
}

// withDefaults returns the options with every zero field filled in.
func (o Options) withDefaults() Options {
	o.KeyPrefix = cmp.Or(o.KeyPrefix, defaultKeyPrefix)
	o.CallTimeout = cmp.Or(o.CallTimeout, defaultCallTimeout)
	return o
}
