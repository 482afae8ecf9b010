package child

import (
	"fmt"
	"net"
	"runtime"
)

// FreePort returns a TCP port of 127.0.0.1 on which nothing listens.
//
// Another process can still take it before the child does, so a caller tries
// again with a new port when its child ends early. On Linux a connection is made
// to the port and closed, first from the listening side: while the kernel holds
// it in TIME_WAIT, it gives the port to nobody who asks for any free one.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("child: find a free port: %w", err)
	}
	defer func() { _ = l.Close() }()
	port := l.Addr().(*net.TCPAddr).Port //nolint:errcheck // it listens on TCP
	if runtime.GOOS != "linux" {
		return port, nil
	}
	near, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return 0, fmt.Errorf("child: find a free port: %w", err)
	}
	defer func() { _ = near.Close() }()
	far, err := l.Accept()
	if err != nil {
		return 0, fmt.Errorf("child: find a free port: %w", err)
	}
	return port, far.Close()
}
