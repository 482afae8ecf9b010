package devserver_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/child/childtest"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/devserver"
)

// requireScript puts a program of that name, and nothing else but the system's
// own, on PATH.
func requireScript(t *testing.T, name, script string) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755))
	t.Setenv("PATH", dir+":/usr/bin:/bin")
}

func TestStartWithTheCommandLine(t *testing.T) {
	t.Setenv(devserver.AddressVar, "")

	t.Run("it is started on a free port with the namespace, and stopped", func(t *testing.T) {
		built, err := devserver.Build(t.Context(), os.Stderr)
		if errors.Is(err, devserver.ErrUnavailable) {
			childtest.SkipOrFail(t, err)
		}
		require.NoError(t, err)
		requireScript(t, "temporal", `
test "$1 $2 $3 $4 $5" = "server start-dev --headless --ip 127.0.0.1" || exit 9
test "$6" = --port && test "$8" = --namespace || exit 9
exec `+built+` -address "127.0.0.1:$7" -namespace "$9"`)
		s, err := devserver.Start(t.Context(), devserver.Options{Namespace: "other", Log: io.Discard})
		require.NoError(t, err)
		require.Equal(t, devserver.OriginCLI, s.Origin())
		require.Equal(t, "other", s.Namespace())
		requireClient(t, s)
		s.Stop()
		s.Stop()
		t.Setenv(devserver.AddressVar, s.Address())
		_, err = devserver.Start(t.Context(), devserver.Options{Log: io.Discard})
		require.ErrorContains(t, err, "does not answer")
	})

	t.Run("the output of one that fails is quoted", func(t *testing.T) {
		requireScript(t, "temporal", "echo unknown flag >&2; exit 2")
		_, err := devserver.Start(t.Context(), devserver.Options{Log: io.Discard})
		require.ErrorContains(t, err, "temporal CLI")
		require.ErrorContains(t, err, "unknown flag")
		require.NotErrorIs(t, err, devserver.ErrUnavailable)
	})

	t.Run("one that never answers is stopped after the timeout", func(t *testing.T) {
		requireScript(t, "temporal", "exec sleep 600")
		_, err := devserver.Start(t.Context(), devserver.Options{StartTimeout: 200 * time.Millisecond, Log: io.Discard})
		require.ErrorContains(t, err, "Options.StartTimeout (200ms)")
	})
}

func TestBuild(t *testing.T) {
	t.Run("outside the module the error names every way out", func(t *testing.T) {
		t.Chdir(t.TempDir())
		t.Setenv(devserver.AddressVar, "")
		t.Setenv("PATH", "/usr/bin:/bin")
		_, err := devserver.Start(t.Context(), devserver.Options{Log: io.Discard})
		require.ErrorIs(t, err, devserver.ErrUnavailable)
		for _, part := range []string{"tools/devserver was not found", "run inside a checkout", "set TEMPORAL_ADDRESS", "install the temporal command line"} {
			require.ErrorContains(t, err, part)
		}
	})

	t.Run("processes that need one build at the same time do it once", func(t *testing.T) {
		source := requireCheckout(t)
		t.Setenv("XDG_CACHE_HOME", t.TempDir())
		t.Setenv("HOME", os.Getenv("XDG_CACHE_HOME"))
		runs := filepath.Join(t.TempDir(), "runs")
		requireScript(t, "go", `
echo run >> `+runs+`
while [ "$1" != -o ]; do shift; done
echo "$PWD" > "$2"`)

		const n = 8
		paths, errs := make(chan string, n), make(chan error, n)
		for range n {
			go func() {
				path, err := devserver.Build(t.Context(), io.Discard)
				paths <- path
				errs <- err
			}()
		}
		first := <-paths
		require.NoError(t, <-errs)
		for range n - 1 {
			require.Equal(t, first, <-paths)
			require.NoError(t, <-errs)
		}
		text, err := os.ReadFile(runs)
		require.NoError(t, err)
		require.Equal(t, "run\n", string(text))
		text, err = os.ReadFile(first)
		require.NoError(t, err)
		require.Equal(t, source+"\n", string(text))

		require.NoError(t, os.WriteFile(filepath.Join(source, "main.go"), []byte("package main // changed"), 0o600))
		second, err := devserver.Build(t.Context(), io.Discard)
		require.NoError(t, err)
		require.NotEqual(t, first, second, "changed sources share a build")
	})

	t.Run("a build that fails leaves nothing behind and says why", func(t *testing.T) {
		requireCheckout(t)
		cache := t.TempDir()
		t.Setenv("XDG_CACHE_HOME", cache)
		t.Setenv("HOME", cache)
		requireScript(t, "go", "echo no such module >&2; exit 1")
		var log bytes.Buffer
		_, err := devserver.Build(t.Context(), &log)
		require.ErrorIs(t, err, devserver.ErrUnavailable)
		require.ErrorContains(t, err, "no such module")
		require.Contains(t, log.String(), "takes several minutes")
		left, _ := filepath.Glob(filepath.Join(cache, "temporal-dedupe", "*"))
		for _, path := range left {
			require.Equal(t, "devserver.lock", filepath.Base(path))
		}
	})

	t.Run("the end of the context ends the build", func(t *testing.T) {
		requireCheckout(t)
		t.Setenv("XDG_CACHE_HOME", t.TempDir())
		t.Setenv("HOME", os.Getenv("XDG_CACHE_HOME"))
		requireScript(t, "go", "exec sleep 600")
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		_, err := devserver.Build(ctx, io.Discard)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

// requireCheckout makes a directory below a checkout with a tools/devserver the
// working directory, and returns the sources' directory.
func requireCheckout(t *testing.T) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	source, below := filepath.Join(root, "tools", "devserver"), filepath.Join(root, "deep", "below")
	require.NoError(t, os.MkdirAll(source, 0o755))
	require.NoError(t, os.MkdirAll(below, 0o755))
	mod := "module github.com/seed5aa7bdf6/temporal-dedupe/tools/devserver\n"
	require.NoError(t, os.WriteFile(filepath.Join(source, "go.mod"), []byte(mod), 0o600))
	t.Chdir(below)
	return source
}
