// Command bench measures this library beside what else keeps records in Postgres,
// on a private server, and compares the figures with their targets:
//
//	go -C bench run . -quick
//
// Contenders take turns: within one round each has its turn within seconds of the
// others, and ratios are formed of figures of one round only. A missed target is
// a result and no failure; the exit code tells of errors alone.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
	"syscall"

	"github.com/seed5aa7bdf6/temporal-dedupe/bench/internal/report"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parseFlags(args, stderr)
	if err != nil {
		return err
	}
	results, err := measured(ctx, o, stderr)
	if results == nil {
		return err
	}
	if err == nil && o.docs != "" { // half the figures belong in no page
		err = writeDocs(results, o.docs)
	}
	for _, v := range results.Targets {
		_, _ = fmt.Fprintln(stdout, v.Line())
	}
	_, _ = fmt.Fprintln(stdout, "A missed target does not make this command fail.")
	return err
}

// measured returns new results, or those of an earlier run.
func measured(ctx context.Context, o options, log io.Writer) (*report.Results, error) {
	if o.render {
		return report.Read(o.out)
	}
	end, err := profile(o.cpuProfile)
	if err != nil {
		return nil, err
	}
	defer end()
	results, err := measure(ctx, o, log)
	if results == nil {
		return nil, err
	}
	results.Derive()
	return results, errors.Join(err, results.Write(o.out))
}

// writeDocs draws the charts and writes the generated part of the page.
func writeDocs(r *report.Results, dir string) error {
	charts, err := report.Draw(r, dir)
	if err != nil {
		return err
	}
	return report.WriteRegion(filepath.Join(dir, "performance.md"), report.Markdown(r, charts))
}

// profile writes a profile of this process until end is called.
func profile(path string) (end func(), err error) {
	if path == "" {
		return func() {}, nil
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("bench: profile: %w", err)
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, fmt.Errorf("bench: profile: %w", err)
	}
	return func() {
		pprof.StopCPUProfile()
		_ = file.Close()
	}, nil
}
