package devserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/child"
)

// Origins of a server, as Server.Origin returns them.
const (
	// OriginEnvironment is a server that TEMPORAL_ADDRESS names.
	OriginEnvironment = AddressVar
	// OriginCLI is a server started by the temporal command line.
	OriginCLI = "temporal CLI"
	// OriginBuilt is a server built from tools/devserver.
	OriginBuilt = "built from tools/devserver"
)

// ErrUnavailable says that there is no server to be had: TEMPORAL_ADDRESS is not
// set, there is no temporal on PATH, and none can be built. The error that wraps
// it names the reason and the remedies.
var ErrUnavailable = errors.New("no Temporal server")

// Server is a Temporal server that answers. Its methods may be called from any goroutine.
type Server struct {
	address   string
	namespace string
	origin    string
	process   *child.Process // nil for a server that was found
}

// Start finds or starts a server and returns it when the namespace answers.
func Start(ctx context.Context, o Options) (*Server, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	if address := os.Getenv(AddressVar); address != "" {
		return find(ctx, o, address)
	}
	if path, err := exec.LookPath("temporal"); err == nil {
		return startCLI(ctx, o, path)
	}
	path, err := Build(ctx, o.Log)
	if err != nil {
		return nil, err
	}
	return startBuilt(ctx, o, path)
}

// find checks a server that somebody else started.
func find(ctx context.Context, o Options, address string) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, foundTimeout)
	defer cancel()
	if err := answers(ctx, address, o.Namespace); err != nil {
		return nil, fmt.Errorf("devserver: %s is %s, but: %w; start a server there, or unset %s to have one started",
			AddressVar, address, err, AddressVar)
	}
	return &Server{address: address, namespace: o.Namespace, origin: OriginEnvironment}, nil
}

// Address returns the host and port of the frontend.
func (s *Server) Address() string { return s.address }

// Namespace returns the namespace that exists on the server.
func (s *Server) Namespace() string { return s.namespace }

// Origin returns where the server came from: one of the Origin constants.
func (s *Server) Origin() string { return s.origin }

// Stop ends a server that Start started, and leaves one that it found alone. It
// may be called again.
func (s *Server) Stop() {
	if s.process != nil {
		s.process.Stop()
	}
}
