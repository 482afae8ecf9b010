package devserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/child"
)

// progressInterval is how often a build says that it is still at work.
const progressInterval = 15 * time.Second

const remedy = "set " + AddressVar + " to a running server, or install the temporal command line"

// Build returns the path of a server built from tools/devserver, which it builds
// first if the user's cache directory does not hold one of the same sources. At
// any time one process builds, and the others wait for it. Lines about the
// progress go to w.
func Build(ctx context.Context, w io.Writer) (string, error) {
	source, err := findSource(ctx)
	if err != nil {
		return "", fmt.Errorf("devserver: %w: %w; %s", ErrUnavailable, err, remedy)
	}
	target, err := cachePath(source)
	if err != nil {
		return "", err
	}
	if isBuilt(target) {
		return target, nil
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return "", fmt.Errorf("devserver: cache directory: %w", err)
	}
	stop := progress(w, "waiting for another process that builds a Temporal server")
	unlock, err := lock(ctx, filepath.Join(filepath.Dir(target), "devserver.lock"))
	stop()
	if err != nil {
		return "", err
	}
	defer unlock()
	if isBuilt(target) {
		return target, nil
	}
	if err := compile(ctx, source, target, w); err != nil {
		return "", fmt.Errorf("devserver: %w: %w; %s", ErrUnavailable, err, remedy)
	}
	prune(target)
	return target, nil
}

// compile builds into a temporary file, which takes the target's name once it is whole.
func compile(ctx context.Context, source, target string, w io.Writer) error {
	compiler, err := exec.LookPath("go")
	if err != nil {
		return errors.New("the go command, needed to build tools/devserver, is not on PATH")
	}
	_, _ = fmt.Fprintf(w, "devserver: building a Temporal server from %s; this happens once and takes several minutes with a cold build cache\n", source)
	defer progress(w, "building a Temporal server")()
	started := time.Now()

	dir, err := os.MkdirTemp(filepath.Dir(target), "building-")
	if err != nil {
		return fmt.Errorf("directory for the build: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	output := filepath.Join(dir, filepath.Base(target))
	p, err := child.Start(child.Options{
		Path: compiler,
		// Without symbols the file is two thirds of its size. Other flags would
		// compile every package anew instead of using the build cache.
		Args:      []string{"build", "-buildvcs=false", "-ldflags=-s -w", "-o", output, "."},
		Env:       []string{"GOFLAGS=", "GOWORK=off"},
		Dir:       source,
		OrphanDir: dir,
	})
	if err != nil {
		return err
	}
	if err := p.Wait(ctx); err != nil {
		return fmt.Errorf("build tools/devserver: %w", err)
	}
	if err := os.Rename(output, target); err != nil {
		return fmt.Errorf("put the built server into the cache: %w", err)
	}
	_, _ = fmt.Fprintf(w, "devserver: built a Temporal server in %s\n", time.Since(started).Round(time.Second))
	return nil
}

// progress writes a line at every interval until stop is called.
func progress(w io.Writer, what string) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	started := time.Now()
	go func() {
		defer close(ended)
		tick := time.NewTicker(progressInterval)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
				_, _ = fmt.Fprintf(w, "devserver: %s; a cold build takes several minutes; %s so far\n", what, time.Since(started).Round(time.Second))
			}
		}
	}()
	return func() {
		close(end)
		<-ended
	}
}
