package devserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
)

const (
	// pollInterval is how often a server that is starting is asked.
	pollInterval = 50 * time.Millisecond
	// attemptTimeout bounds one question to it.
	attemptTimeout = 5 * time.Second
	// foundTimeout bounds the question to a server that should be up.
	foundTimeout = 10 * time.Second
)

// answersAt is answers for a server that is starting, and may have no address yet.
func answersAt(ctx context.Context, address, namespace string) error {
	if address == "" {
		return errors.New("it has not told its address")
	}
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	return answers(ctx, address, namespace)
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
