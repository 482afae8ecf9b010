package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/temporal"
)

// pollInterval is how often waitReady asks again.
const pollInterval = 50 * time.Millisecond

// server is a Temporal server with all its services in this process.
type server struct {
	address    string
	namespaces []string
	temporal   temporal.Server
}

func newServer(o options) (*server, error) {
	host, ports, err := frontendAddress(o.address)
	if err != nil {
		return nil, err
	}
	cfg := serverConfig(host, ports, sqlConfig(o.db))
	if err := createNamespaces(cfg, o.namespaces); err != nil {
		return nil, err
	}
	srv, err := temporal.NewServer(
		temporal.WithConfig(cfg),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(staticHosts(host, ports)),
		temporal.WithLogger(log.NewZapLogger(log.BuildZapLogger(log.Config{Level: o.logLevel, Format: "console"}))),
		temporal.WithAuthorizer(authorization.NewNoopAuthorizer()),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper {
			return authorization.NewNoopClaimMapper()
		}),
		temporal.WithDynamicConfigClient(dynamicConfig()),
	)
	if err != nil {
		return nil, fmt.Errorf("set up the server: %w", err)
	}
	return &server{address: cfg.PublicClient.HostPort, namespaces: o.namespaces, temporal: srv}, nil
}

func (s *server) start() error {
	if err := s.temporal.Start(); err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	return nil
}

// stop drains the server, but gives up on the drain after the timeout.
func (s *server) stop(timeout time.Duration) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.temporal.Stop()
	}()
	select {
	case <-done:
	case <-time.After(timeout):
	}
}

// waitReady returns when the frontend knows every namespace.
func (s *server) waitReady(ctx context.Context) error {
	c, err := client.NewLazyClient(client.Options{
		HostPort: s.address,
		Logger:   sdklog.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil))),
	})
	if err != nil {
		return fmt.Errorf("client for the readiness check: %w", err)
	}
	defer c.Close()
	for _, namespace := range s.namespaces {
		for {
			_, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
			if err == nil {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("namespace %q does not answer on %s: %w", namespace, s.address, err)
			case <-time.After(pollInterval):
			}
		}
	}
	return nil
}
