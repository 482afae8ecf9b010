package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/bench/internal/report"
)

// bench is what the experiments share.
type bench struct {
	options
	*report.Results
	server *server
	log    io.Writer
}

// experiments in the order in which they run: the large table comes last, since
// it leaves the server's memory full of itself.
var experiments = []struct {
	name string
	run  func(b *bench, ctx context.Context) error
}{
	{"cycles", (*bench).cycles},
	{"replays", (*bench).replays},
	{"eviction", (*bench).eviction},
	{"workflows", (*bench).workflows},
	{"process", (*bench).process},
	{"sizes", (*bench).tableSizes},
}

func experimentNames() []string {
	var found []string
	for _, e := range experiments {
		found = append(found, e.name)
	}
	return found
}

// measure runs the experiments on a server of their own. When one fails the others
// run all the same; there are results beside the error then.
func measure(ctx context.Context, o options, log io.Writer) (results *report.Results, err error) {
	s, err := startServer(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if stopErr := s.stop(); err == nil {
			err = stopErr
		}
	}()
	b := &bench{options: o, server: s, log: log, Results: &report.Results{MeasuredAt: time.Now().UTC(), Flags: o.values()}}
	if b.Settings, err = s.settings(ctx); err != nil {
		return nil, err
	}
	b.Machine, b.Commit = describeMachine(ctx, s), commit(ctx, o.root)
	for _, e := range experiments {
		if len(o.only) > 0 && !slices.Contains(o.only, e.name) {
			continue
		}
		begun := time.Now()
		b.say("==> %s", e.name)
		if fault := e.run(b, ctx); fault != nil {
			fault = fmt.Errorf("bench: %s: %w", e.name, fault)
			b.say("%v", fault)
			err = errors.Join(err, fault)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		b.say("==> %s: done in %s", e.name, time.Since(begun).Round(time.Second))
	}
	return b.Results, err
}

// say tells how far the program has come.
func (b *bench) say(format string, args ...any) { _, _ = fmt.Fprintf(b.log, format+"\n", args...) }

// turns returns the numbers below n, in an order that moves on with the round, so
// that nobody always comes first.
func turns(n, round int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = (i + round) % n
	}
	return order
}
