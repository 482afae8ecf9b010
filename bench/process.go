package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"time"

	"golang.org/x/tools/benchmark/parse"

	"github.com/seed5aa7bdf6/temporal-dedupe/bench/internal/report"
)

// goBenchmarks are the library's own benchmarks that targets are set for.
var goBenchmarks = map[string]struct{ time, allocs string }{
	"BenchmarkExecution/FirstRun": {report.Interceptor, report.InterceptorAll},
	"BenchmarkFingerprint":        {report.Fingerprint, report.FingerprintAll},
}

// process measures the work in the worker's own process, with go test.
func (b *bench) process(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "go", "-C", b.root, "test", "-run", "^$", "-bench", "^Benchmark(Execution|Fingerprint)$",
		"-benchmem", "-benchtime", max(b.duration/3, minBenchtime).String(), "-count", strconv.Itoa(b.rounds), "./activity")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%w:\n%s%s", err, out, stderr.Bytes())
	}
	return b.addGoBenchmarks(out)
}

// addGoBenchmarks keeps what go test has printed.
func (b *bench) addGoBenchmarks(out []byte) error {
	set, err := parse.ParseSet(bytes.NewReader(out))
	if err != nil {
		return err
	}
	for name, what := range goBenchmarks {
		runs := benchmarksNamed(set, name)
		if len(runs) == 0 {
			return fmt.Errorf("%s did not run; go test printed:\n%s", name, out)
		}
		for round, r := range runs {
			b.Add(report.Point{What: what.time, By: report.Grouped}, round, r.NsPerOp)
			b.Add(report.Point{What: what.allocs, By: report.Grouped}, round, float64(r.AllocsPerOp))
		}
	}
	return nil
}

// minBenchtime is the shortest run that calibrates itself.
const minBenchtime = 200 * time.Millisecond

// processors is what go test puts behind a name: -8 on eight cores.
var processors = regexp.MustCompile(`-\d+$`)

func benchmarksNamed(set parse.Set, name string) []*parse.Benchmark {
	for printed, runs := range set {
		if processors.ReplaceAllString(printed, "") == name {
			return runs
		}
	}
	return nil
}
