package crashtest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// house is what worker processes talk to beside Temporal and the database: the
// two providers, the count of bodies, and the one who grants deaths.
type house struct {
	url       string
	providers map[Keys]*provider

	server *http.Server
	served chan struct{}

	mu      sync.Mutex
	workers map[string]int    // started, by task queue
	bodies  map[string]int    // begun, by order
	deaths  map[string]*death // by order
}

// death is the one kill that an order is designated for.
type death struct {
	window  Window
	granted chan struct{} // closed when it was granted
	bodies  int           // how many had begun by then
}

// bodyAnswer tells a body that has begun which one of its order it is, from 1 on.
type bodyAnswer struct {
	Number int `json:"number"`
}

func newHouse() (*house, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("crashtest: %w", err)
	}
	h := &house{
		url:       "http://" + listener.Addr().String(),
		providers: map[Keys]*provider{IgnoresKeys: newProvider(IgnoresKeys), HonoursKeys: newProvider(HonoursKeys)},
		served:    make(chan struct{}),
		workers:   map[string]int{},
		bodies:    map[string]int{},
		deaths:    map[string]*death{},
	}
	mux := http.NewServeMux()
	for keys, p := range h.providers {
		mux.Handle("/charges/"+string(keys), p)
	}
	mux.HandleFunc("POST /workers", h.serveWorker)
	mux.HandleFunc("POST /bodies", h.serveBody)
	mux.HandleFunc("POST /deaths", h.serveDeath)
	h.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		defer close(h.served)
		_ = h.server.Serve(listener) // ends with the error that Close causes
	}()
	return h, nil
}

func (h *house) close() {
	_ = h.server.Close()
	<-h.served
}

// serveWorker counts a worker that has started.
func (h *house) serveWorker(_ http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.workers[r.URL.Query().Get("of")]++
}

// serveBody counts a body that has begun.
func (h *house) serveBody(w http.ResponseWriter, r *http.Request) {
	order := r.URL.Query().Get("of")
	h.mu.Lock()
	h.bodies[order]++
	n := h.bodies[order]
	h.mu.Unlock()
	respond(w, bodyAnswer{n})
}

// serveDeath grants a death to the first who asks for it.
func (h *house) serveDeath(w http.ResponseWriter, r *http.Request) {
	order := r.URL.Query().Get("of")
	h.mu.Lock()
	defer h.mu.Unlock()
	d := h.deaths[order]
	if d == nil || d.isGranted() {
		w.WriteHeader(http.StatusConflict)
		return
	}
	d.bodies = h.bodies[order]
	close(d.granted)
}

func (d *death) isGranted() bool {
	select {
	case <-d.granted:
		return true
	default:
		return false
	}
}

// designate arms the death of an order.
func (h *house) designate(order string, w Window) *death {
	h.mu.Lock()
	defer h.mu.Unlock()
	d := &death{window: w, granted: make(chan struct{})}
	h.deaths[order] = d
	return d
}

// begun tells how many bodies of an order have begun.
func (h *house) begun(order string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.bodies[order]
}

// started tells how many workers of a task queue have started.
func (h *house) started(queue string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.workers[queue]
}
