package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
)

// ProviderRequest is the body of a request to the provider.
type ProviderRequest struct {
	OrderID string `json:"order"`
	HoldID  string `json:"hold,omitempty"`
	Cents   int64  `json:"cents"`
}

// ProviderAnswer is the body of an answer: an ID or an error.
type ProviderAnswer struct {
	ID    string `json:"id,omitempty"`
	Error string `json:"error,omitempty"`
}

// Provider is a payment provider. It remembers every charge that it really made,
// which makes it the judge of this demo. POST /holds reserves money, POST
// /charges takes it.
type Provider struct {
	honourKeys bool

	mu      sync.Mutex
	holds   int
	charges map[string][]string // IDs by order
	made    int
	seen    map[string]exchange // by Idempotency-Key
}

// exchange is a request and what was answered.
type exchange struct {
	request []byte
	answer  ProviderAnswer
}

// NewProvider returns a provider that answers a known Idempotency-Key as it did
// the first time, or one that ignores the header, as many do.
func NewProvider(honourKeys bool) *Provider {
	return &Provider{honourKeys: honourKeys, charges: map[string][]string{}, seen: map[string]exchange{}}
}

// Charges returns the IDs of the charges made for an order.
func (p *Provider) Charges(orderID string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.charges[orderID])
}

// ServeHTTP answers one request.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<16))
	if err != nil {
		respond(w, http.StatusBadRequest, ProviderAnswer{Error: err.Error()})
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	key := r.Header.Get("Idempotency-Key")
	if known, ok := p.seen[key]; ok {
		if !bytes.Equal(known.request, body) {
			respond(w, http.StatusUnprocessableEntity, ProviderAnswer{Error: "the Idempotency-Key was used for another request"})
			return
		}
		w.Header().Set("Idempotent-Replayed", "true")
		respond(w, http.StatusOK, known.answer)
		return
	}
	status, answer := p.handle(r, body)
	if p.honourKeys && key != "" && status < 300 {
		p.seen[key] = exchange{body, answer}
	}
	respond(w, status, answer)
}

// handle holds or charges.
func (p *Provider) handle(r *http.Request, body []byte) (int, ProviderAnswer) {
	var request ProviderRequest
	switch err := json.Unmarshal(body, &request); {
	case err != nil:
		return http.StatusBadRequest, ProviderAnswer{Error: err.Error()}
	case request.OrderID == "" || request.Cents <= 0:
		return http.StatusUnprocessableEntity, ProviderAnswer{Error: "want an order and a positive amount"}
	}
	switch r.Method + " " + r.URL.Path {
	case "POST /holds":
		p.holds++
		return http.StatusCreated, ProviderAnswer{ID: fmt.Sprintf("hold_%04d", p.holds)}
	case "POST /charges":
		p.made++
		id := fmt.Sprintf("ch_%04d", p.made)
		p.charges[request.OrderID] = append(p.charges[request.OrderID], id)
		return http.StatusCreated, ProviderAnswer{ID: id}
	default:
		return http.StatusNotFound, ProviderAnswer{Error: "no such resource"}
	}
}

func respond(w http.ResponseWriter, status int, answer ProviderAnswer) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}
