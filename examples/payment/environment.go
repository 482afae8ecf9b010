package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// environment is what the shop needs around it.
type environment struct {
	temporalAddress string
	namespace       string
	records         *records // nil without deduplication
	private         bool     // the records end with this program
	provider        *Provider
	providerURL     string

	stops []func() // in the order of the starts
}

// startEnvironment brings up Temporal, the store and the payment provider, and
// says how long each of them took.
func startEnvironment(ctx context.Context, o options, out io.Writer) (*environment, error) {
	e := &environment{}
	// The store comes first: that a database cannot be reached should be said
	// before a Temporal server is built.
	steps := []func(context.Context, options, announcer) error{e.startRecords, e.startTemporal, e.startProvider}
	if !o.dedupe {
		steps = steps[1:]
	}
	for _, step := range steps {
		if err := step(ctx, o, announcer{out, time.Now()}); err != nil {
			e.stop()
			return nil, err
		}
	}
	return e, nil
}

// stop ends what was started, last first.
func (e *environment) stop() {
	for i := len(e.stops) - 1; i >= 0; i-- {
		e.stops[i]()
	}
}

// startProvider starts the payment provider.
func (e *environment) startProvider(_ context.Context, o options, say announcer) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("payment: provider: %w", err)
	}
	e.provider = NewProvider(o.honourKeys)
	e.providerURL = "http://" + listener.Addr().String()
	server := &http.Server{Handler: e.provider, ReadHeaderTimeout: 5 * time.Second}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener) // ends with the error that Close causes
	}()
	e.stops = append(e.stops, func() { _ = server.Close(); <-served })
	keys := "ignores"
	if o.honourKeys {
		keys = "honours"
	}
	say.now("Provider", "%s, %s Idempotency-Key", e.providerURL, keys)
	return nil
}

// announcer prints the progress of one step.
type announcer struct {
	out   io.Writer
	since time.Time
}

// now prints a line.
func (a announcer) now(what, format string, args ...any) {
	_, _ = fmt.Fprintf(a.out, "%-9s %s\n", what, fmt.Sprintf(format, args...))
}

// ready prints a line with the time that the step took.
func (a announcer) ready(what, format string, args ...any) {
	a.now(what, "%s (%.1f s)", fmt.Sprintf(format, args...), time.Since(a.since).Seconds())
}
