package localredistest

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/child/childtest"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localredis"
)

//go:embed testdata/clock.c
var clockSource []byte

// Clock is the clock of one server, which runs, and which a test can move.
type Clock struct {
	t     testing.TB
	file  string
	shift time.Duration
}

// Advance moves the clock. It is called by one goroutine at a time.
func (c *Clock) Advance(d time.Duration) {
	c.t.Helper()
	c.shift += d
	if err := c.write(); err != nil {
		c.t.Error(err)
	}
}

// write puts the shift into the file that the server has mapped, as it stands:
// a new file in its place would not be seen.
func (c *Clock) write() error {
	f, err := os.OpenFile(c.file, os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		_, err = f.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(c.shift)), 0)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("localredistest: move the clock: %w", err)
	}
	return nil
}

// RequireClock returns a server whose clock the test can move: the server
// itself sees the time go by, so that whatever it does by time happens. It
// needs Linux and a C compiler, and skips and fails as RequireServer does.
func RequireClock(t testing.TB, o localredis.Options) (*localredis.Server, *Clock) {
	t.Helper()
	dir := t.TempDir()
	c := &Clock{t: t, file: filepath.Join(dir, "shift")}
	library := filepath.Join(dir, "clock.so")
	if err := errors.Join(compile(dir, library), c.write()); err != nil {
		childtest.SkipOrFail(t, err)
	}
	o.Env = append(slices.Clone(o.Env), "LD_PRELOAD="+library, "LOCALREDIS_CLOCK="+c.file)
	return RequireServer(t, o), c
}

// compile makes the library that is preloaded, in about a tenth of a second.
func compile(dir, library string) error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("localredistest: the clock of a server can be moved on Linux only, not on %s", runtime.GOOS)
	}
	var compiler string
	for _, name := range []string{"cc", "gcc", "clang"} {
		if path, err := exec.LookPath(name); err == nil {
			compiler = path
			break
		}
	}
	if compiler == "" {
		return errors.New("localredistest: moving the clock of a server needs a C compiler (apt-get install gcc libc6-dev)")
	}
	source := filepath.Join(dir, "clock.c")
	if err := os.WriteFile(source, clockSource, 0o600); err != nil {
		return fmt.Errorf("localredistest: %w", err)
	}
	if out, err := exec.Command(compiler, "-O2", "-shared", "-fPIC", "-o", library, source).CombinedOutput(); err != nil {
		return fmt.Errorf("localredistest: compile the clock: %w\n%s", err, out)
	}
	return nil
}
