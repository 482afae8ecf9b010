package localpg

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"time"
)

// Options says how to run a cluster. The zero value is useful.
type Options struct {
	// BinDir is the directory of the programs postgres and initdb. Defaults to
	// what is found on PATH, by pg_config, and in the places where Debian, Red
	// Hat, Homebrew and Postgres.app put them, newest version first.
	BinDir string
	// Settings are server settings, as in postgresql.conf. Those that are absent
	// keep Postgres's defaults, fsync=on among them, apart from max_connections
	// (200), jit (off) and autovacuum_naptime (10s). The address, port and sockets
	// are not open to change.
	Settings map[string]string
	// Env is added to the server's environment, as KEY=value: LD_PRELOAD and
	// FAKETIME shift its clock.
	Env []string
	// Log receives the server's log. Nil drops it; errors quote the end of it in
	// any case.
	Log io.Writer
	// StartTimeout bounds initdb and the wait for an answer. Defaults to 60 seconds.
	StartTimeout time.Duration
}

const defaultStartTimeout = 60 * time.Second

var (
	settingName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.]*$`)
	reserved    = []string{"listen_addresses", "port", "unix_socket_directories"}
)

func (o *Options) validate() error {
	for name := range o.Settings {
		if !settingName.MatchString(name) {
			return fmt.Errorf("localpg: Options.Settings: %q is no name of a setting", name)
		}
		if slices.Contains(reserved, name) {
			return fmt.Errorf("localpg: Options.Settings: %s is chosen by the cluster", name)
		}
	}
	if o.StartTimeout < 0 {
		return fmt.Errorf("localpg: Options.StartTimeout is %s, want no less than 0", o.StartTimeout)
	}
	o.StartTimeout = cmp.Or(o.StartTimeout, defaultStartTimeout)
	return nil
}

// arguments returns the settings as arguments of the postgres program, in a fixed order.
func (o *Options) arguments() []string {
	settings := map[string]string{
		"autovacuum_naptime": "10s", // dead rows of a busy test are gone before it ends
		"jit":                "off", // costs more than the small queries of tests
		"max_connections":    "200", // parallel tests have a pool each
	}
	maps.Copy(settings, o.Settings)
	var args []string
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", name+"="+settings[name])
	}
	return args
}
