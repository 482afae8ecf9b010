// Package pgbench runs Postgres's own load generator and reads what it prints. It
// must not know what the statements are for.
package pgbench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Options say what to run.
type Options struct {
	// Path is the program.
	Path string
	// URL is the database's.
	URL string
	// Schema comes first on the search_path.
	Schema string
	// Script is run again and again by every client, its statements prepared,
	// each a transaction of its own.
	Script string
	// Clients is how many connections there are.
	Clients int
	// Duration is rounded up to seconds, which is all that pgbench knows, and
	// the time that it needs to connect comes on top.
	Duration time.Duration
}

// Outcome is what a run tells.
type Outcome struct {
	// Rate is how often the script ran in a second, connecting left out.
	Rate float64
	// Runs is how often it ran.
	Runs int
	// CPU is what pgbench itself took.
	CPU time.Duration
}

// Run runs pgbench once. An error of a statement is an error of the run.
func Run(ctx context.Context, o Options) (Outcome, error) {
	config, err := pgx.ParseConfig(o.URL)
	if err != nil {
		return Outcome{}, errors.New("bench: pgbench: the database's URL cannot be read")
	}
	dir, err := os.MkdirTemp("", "pgbench-")
	if err != nil {
		return Outcome{}, fmt.Errorf("bench: pgbench: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	script := filepath.Join(dir, "script.sql")
	if err := os.WriteFile(script, []byte(o.Script), 0o600); err != nil {
		return Outcome{}, fmt.Errorf("bench: pgbench: %w", err)
	}
	cmd := exec.CommandContext(ctx, o.Path,
		"--no-vacuum", "--protocol", "prepared", "--file", script, "--client", strconv.Itoa(o.Clients),
		// Its threads only pass messages on: more than cores make it slower.
		"--jobs", strconv.Itoa(min(o.Clients, runtime.NumCPU())),
		"--time", strconv.Itoa(seconds(o)))
	cmd.Env = append(os.Environ(),
		"PGHOST="+config.Host, "PGPORT="+strconv.Itoa(int(config.Port)), "PGUSER="+config.User,
		"PGPASSWORD="+config.Password, "PGDATABASE="+config.Database, "PGOPTIONS=-c search_path="+o.Schema,
		"PGSSLMODE=disable", "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return Outcome{}, fmt.Errorf("bench: pgbench: %w; it printed:\n%s", err, out)
	}
	outcome, err := parse(string(out))
	if err != nil {
		return Outcome{}, err
	}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		outcome.CPU = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	return outcome, nil
}

// seconds is how long pgbench is told to run. It connects in that time, which is
// not in its rate: a password that is checked as it should be takes milliseconds.
func seconds(o Options) int {
	return int(math.Ceil(o.Duration.Seconds() + float64(o.Clients)/connectsPerSecond))
}

// connectsPerSecond is less than two busy cores can do.
const connectsPerSecond = 64

// parse reads the summary that pgbench prints.
func parse(out string) (Outcome, error) {
	var o Outcome
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		var err error
		switch name, value := cut(line); {
		case strings.Contains(line, "ERROR:"), strings.Contains(line, "aborted"):
			return Outcome{}, fmt.Errorf("bench: pgbench: a client failed; it printed:\n%s", out)
		case name == "number of failed transactions" && value != "0":
			return Outcome{}, fmt.Errorf("bench: pgbench: %s", line)
		case name == "number of transactions actually processed":
			value, _, _ = strings.Cut(value, "/")
			o.Runs, err = strconv.Atoi(value)
		case name == "tps" && strings.Contains(line, "without initial connection time"):
			o.Rate, err = strconv.ParseFloat(value, 64)
		}
		if err != nil {
			return Outcome{}, fmt.Errorf("bench: pgbench: %q: %w", line, err)
		}
	}
	if o.Runs == 0 || o.Rate == 0 {
		return Outcome{}, fmt.Errorf("bench: pgbench: no rate in what it printed:\n%s", out)
	}
	return o, nil
}

// cut splits a line into its name and the first word of its value.
func cut(line string) (name, value string) {
	name, value, found := strings.Cut(line, ":")
	if !found {
		name, value, _ = strings.Cut(line, "=")
	}
	value, _, _ = strings.Cut(strings.TrimSpace(value), " ")
	return strings.TrimSpace(name), value
}
