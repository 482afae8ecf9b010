package devserver

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/child"
)

const (
	// pollInterval is how often awaitAnswer asks a server that is starting.
	pollInterval = 50 * time.Millisecond
	// attemptTimeout bounds one question to it.
	attemptTimeout = 5 * time.Second
	// foundTimeout bounds the question to a server that should be up.
	foundTimeout = 10 * time.Second
)

// awaitAnswer returns when the server answers, has ended, or the context has.
func awaitAnswer(ctx context.Context, p *child.Process, address func() string, namespace string) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	var last error
	for {
		if a := address(); a != "" {
			attempt, cancel := context.WithTimeout(ctx, attemptTimeout)
			last = answers(attempt, a, namespace)
			cancel()
			if last == nil {
				return nil
			}
		}
		select {
		case <-p.Done():
			return fmt.Errorf("%w (%v)", errEnded, p.Err()) //nolint:errorlint // nil when it ended well
		case <-ctx.Done():
			return fmt.Errorf("%w (last error: %v)", context.Cause(ctx), last) //nolint:errorlint // nil when nobody was asked
		case <-tick.C:
		}
	}
}

// answers asks a server for its system information and the namespace.
func answers(ctx context.Context, address, namespace string) error {
	silent := log.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))
	c, err := client.DialContext(ctx, client.Options{HostPort: address, Namespace: namespace, Logger: silent})
	if err != nil {
		return fmt.Errorf("%s does not answer: %w", address, err)
	}
	defer c.Close()
	_, err = c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	if err != nil {
		return fmt.Errorf("%s has no namespace %q (%s names another): %w", address, namespace, NamespaceVar, err)
	}
	return nil
}
