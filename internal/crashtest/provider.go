package crashtest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"
)

// providerDelay bounds how long a provider takes before it charges, and again
// before it answers. It spreads the orders of a lane over all windows, so that
// neighbours of the victim die in the middle of things.
const providerDelay = 100 * time.Millisecond

// provider is a payment provider: POST charges an order, GET finds a charge. It
// remembers each charge that it made, which makes it the judge of a run.
type provider struct {
	keys Keys

	mu      sync.Mutex
	made    int
	charges map[string][]string // IDs by order
	known   map[string]string   // IDs by idempotency key, where keys are honoured
}

// charge is a charge on the wire.
type charge struct {
	ID string `json:"id"`
}

func newProvider(keys Keys) *provider {
	return &provider{keys: keys, charges: map[string][]string{}, known: map[string]string{}}
}

// ServeHTTP answers one request.
func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	order, key := r.URL.Query().Get("of"), r.Header.Get("Idempotency-Key")
	if r.Method == http.MethodGet {
		id := p.find(order, key)
		if id == "" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		respond(w, charge{id})
		return
	}
	linger()
	id := p.charge(order, key)
	linger()
	respond(w, charge{id})
}

// charge takes the money. A client that is gone by now is charged all the same,
// as it would be by a real provider.
func (p *provider) charge(order, key string) (id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if id, ok := p.known[key]; ok {
		return id
	}
	p.made++
	id = fmt.Sprintf("ch-%s-%05d", p.keys, p.made)
	p.charges[order] = append(p.charges[order], id)
	if p.keys == HonoursKeys {
		p.known[key] = id
	}
	return id
}

// find returns the charge that a key or, where keys are ignored, an order has.
func (p *provider) find(order, key string) (id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.keys == HonoursKeys {
		return p.known[key]
	}
	if ids := p.charges[order]; len(ids) > 0 {
		return ids[0]
	}
	return ""
}

// of returns the charges of an order.
func (p *provider) of(order string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.charges[order])
}

func linger() {
	timer := time.NewTimer(rand.N(providerDelay))
	<-timer.C
}

func respond(w http.ResponseWriter, answer any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // a worker that died has no use for it
}
