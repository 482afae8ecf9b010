package crashtest_test

import (
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// proxy stands between a worker and its database, and loses answers: the
// statement is carried out and committed, and then the connection is gone.
type proxy struct {
	listener net.Listener
	server   string
	lose     func(request []byte) bool

	lost  atomic.Int32
	conns sync.WaitGroup
	mu    sync.Mutex
	open  map[net.Conn]bool
}

// requireProxy starts a proxy in front of a database and returns the database's
// URL through it. lose picks the requests whose answers are lost.
func requireProxy(t *testing.T, databaseURL string, lose func(request []byte) bool) (*proxy, string) {
	t.Helper()
	u, err := url.Parse(databaseURL)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{listener: listener, server: u.Host, lose: lose, open: map[net.Conn]bool{}}
	p.conns.Go(p.accept)
	t.Cleanup(p.close)
	u.Host = listener.Addr().String()
	return p, u.String()
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.conns.Go(func() { p.serve(client) })
	}
}

// serve carries one connection, until the first answer that is to be lost.
func (p *proxy) serve(client net.Conn) {
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		_ = client.Close()
		return
	}
	p.track(client, server)
	var losing atomic.Bool
	var wait sync.WaitGroup
	carry := func(from, to net.Conn, drops func([]byte) bool) {
		defer func() { _, _ = client.Close(), server.Close() }()
		buffer := make([]byte, 64<<10)
		for {
			n, err := from.Read(buffer)
			if err != nil || drops(buffer[:n]) {
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
	}
	wait.Go(func() {
		carry(client, server, func(request []byte) bool {
			if p.lose(request) {
				losing.Store(true)
			}
			return false
		})
	})
	wait.Go(func() {
		carry(server, client, func([]byte) bool {
			// Postgres sends the answer to such a small statement when it has
			// committed it, and not before.
			if losing.Load() {
				p.lost.Add(1)
			}
			return losing.Load()
		})
	})
	wait.Wait()
	p.untrack(client, server)
}

func (p *proxy) track(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		p.open[c] = true
	}
}

func (p *proxy) untrack(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		delete(p.open, c)
	}
}

func (p *proxy) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	for c := range p.open {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.conns.Wait()
}
