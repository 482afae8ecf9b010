package migrations

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/pgurl"
)

// AllSteps means every migration there is, as [Options.Steps].
const AllSteps = math.MaxInt32

const (
	defaultConnectTimeout = 10 * time.Second
	defaultLockTimeout    = time.Minute
)

// Options are the choices of [Up], [Down], [Check], [ReadStatus] and [SQL].
// The zero value is useful.
type Options struct {
	// Schema is where the tables live. Up creates it when it is missing; the
	// name is quoted, so it is case-sensitive. A store must be told the same
	// name, or have it first on its search_path. Defaults to the first
	// existing schema on the connection's search_path, most often "public".
	Schema string

	// Steps is how many migrations to apply or to take back; fewer if there
	// are not as many. Defaults to all of them for Up and to one for Down,
	// which drops data. AllSteps means all of them.
	Steps int

	// ConnectTimeout bounds each connection attempt as a whole, over all
	// addresses of the host; a shorter connect_timeout in the URL holds as
	// well. Defaults to 10 seconds.
	ConnectTimeout time.Duration

	// LockTimeout bounds the wait for each lock: for another process that is
	// migrating, and for sessions that use the tables. It becomes Postgres'
	// lock_timeout. Defaults to one minute.
	LockTimeout time.Duration

	// Logger receives one line for each migration that was applied or taken
	// back. Defaults to no logging.
	Logger *slog.Logger
}

// validate reports the first field that cannot be used, by name.
func (o Options) validate() error {
	fault := func(field, text string) error {
		return fmt.Errorf("dedupe: migrations: Options.%s: %s", field, text)
	}
	if text := pgurl.SchemaFault(o.Schema); text != "" {
		return fault("Schema", text)
	}
	switch {
	case o.Steps < 0:
		return fmt.Errorf("dedupe: migrations: Options.Steps is negative: %d; Up and Down give the direction", o.Steps)
	case o.ConnectTimeout < 0:
		return fmt.Errorf("dedupe: migrations: Options.ConnectTimeout is negative: %v", o.ConnectTimeout)
	case o.LockTimeout < 0:
		return fmt.Errorf("dedupe: migrations: Options.LockTimeout is negative: %v", o.LockTimeout)
	case o.LockTimeout > 0 && o.LockTimeout < time.Millisecond:
		return fault("LockTimeout", "below one millisecond, which Postgres would take as no limit")
	case o.LockTimeout > math.MaxInt32*time.Millisecond:
		return fault("LockTimeout", "longer than Postgres can express (about 24 days)")
	}
	return nil
}

// withDefaults returns the options with every zero field filled in but Schema
// and Steps, whose meaning depends on where they are used.
func (o Options) withDefaults() Options {
	o.ConnectTimeout = cmp.Or(o.ConnectTimeout, defaultConnectTimeout)
	o.LockTimeout = cmp.Or(o.LockTimeout, defaultLockTimeout)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return o
}

// steps resolves Steps for a direction.
func (o Options) steps(d Direction) int {
	switch {
	case o.Steps > 0:
		return o.Steps
	case d == DirectionUp:
		return AllSteps
	default:
		return 1
	}
}

var errEmptyURL = errors.New("dedupe: migrations: the database URL is empty")
