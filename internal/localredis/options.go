package localredis

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Options says how to run a server. The zero value is useful.
type Options struct {
	// Path is the program redis-server. Defaults to what is found on PATH, and in
	// the places where packages put it.
	Path string
	// Settings are directives, as in redis.conf. Those that are absent keep
	// Redis's defaults, apart from appendonly (yes), appendfsync (always) and save
	// (none): what a killed server had answered is there again after a restart.
	// With Redis's own appendfsync it is not, while an earlier write is on its way
	// to a slow disk. Address, port, directory and password are not open to change.
	Settings map[string]string
	// Env is added to the server's environment, as KEY=value.
	Env []string
	// Log receives the server's log. Nil drops it; errors quote the end of it in
	// any case.
	Log io.Writer
	// StartTimeout bounds the wait for an answer. Defaults to 30 seconds.
	StartTimeout time.Duration
}

const defaultStartTimeout = 30 * time.Second

// ErrNoRedis says that redis-server was not found. Its text names the packages
// that bring it.
var ErrNoRedis = errors.New("no redis-server on PATH or in the usual places; " +
	"install it with `apt-get install redis-server` or `brew install redis`")

// installed are patterns of where packages put the program.
var installed = []string{
	"/usr/bin/redis-server", "/usr/sbin/redis-server", "/usr/local/bin/redis-server",
	"/opt/homebrew/bin/redis-server", "/home/linuxbrew/.linuxbrew/bin/redis-server",
}

var (
	directive = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
	reserved  = []string{
		"bind", "port", "unixsocket", "dir", "requirepass", "masterauth", "masteruser", "daemonize", "cluster-enabled", "cluster-port",
	}
)

// validate checks the options and fills in the defaults.
func (o *Options) validate() error {
	for _, name := range slices.Sorted(maps.Keys(o.Settings)) {
		switch {
		case !directive.MatchString(name):
			return fmt.Errorf("localredis: Options.Settings: %q is no name of a directive", name)
		case slices.Contains(reserved, name):
			return fmt.Errorf("localredis: Options.Settings: %s is chosen by the server", name)
		case strings.ContainsAny(o.Settings[name], "\r\n"):
			return fmt.Errorf("localredis: Options.Settings: the value of %s has more than one line", name)
		}
	}
	if o.StartTimeout < 0 {
		return fmt.Errorf("localredis: Options.StartTimeout is %s, want no less than 0", o.StartTimeout)
	}
	o.StartTimeout = cmp.Or(o.StartTimeout, defaultStartTimeout)
	var err error
	o.Path, err = findProgram(o.Path)
	return err
}

func findProgram(explicit string) (string, error) {
	if explicit != "" {
		if _, err := exec.LookPath(explicit); err != nil {
			return "", fmt.Errorf("localredis: Options.Path: %w", err)
		}
		return explicit, nil
	}
	if path, err := exec.LookPath("redis-server"); err == nil {
		return path, nil
	}
	for _, path := range installed {
		if _, err := exec.LookPath(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("localredis: %w", ErrNoRedis)
}

// writeConfig writes redis.conf, which holds the password and is for nobody else
// to read.
func (o *Options) writeConfig(dir, password string, own map[string]string) (path string, err error) {
	settings := map[string]string{
		"appendonly":     "yes",
		"appendfsync":    "always",
		"save":           `""`,
		"bind":           "127.0.0.1",
		"protected-mode": "yes",
		"unixsocket":     `""`,
		"daemonize":      "no",
		"dir":            dir,
		"requirepass":    password,
		"masterauth":     password,
	}
	maps.Copy(settings, o.Settings)
	maps.Copy(settings, own)
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&text, "%s %s\n", name, settings[name])
	}
	path = filepath.Join(dir, "redis.conf")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		return "", fmt.Errorf("localredis: configuration of the server: %w", err)
	}
	return path, nil
}
