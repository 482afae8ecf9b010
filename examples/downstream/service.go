package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Service is a service that honours Idempotency-Key: a known key is answered with
// what it made the first time. Without a key, every request makes something.
type Service struct {
	name string

	mu       sync.Mutex
	requests map[string]int      // by order
	keys     map[string]string   // what each key has made
	made     map[string][]string // by order
}

// serve starts a service on the loopback interface and returns its address, and the
// function that ends it.
func serve(name string) (s *Service, url string, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", nil, fmt.Errorf("downstream: %s: %w", name, err)
	}
	s = &Service{name: name, requests: map[string]int{}, keys: map[string]string{}, made: map[string][]string{}}
	server := &http.Server{Handler: s, ReadHeaderTimeout: 5 * time.Second}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener) // ends with the error that Close causes
	}()
	return s, "http://" + listener.Addr().String() + "/" + name, func() { _ = server.Close(); <-served }, nil
}

// ServeHTTP makes what is asked for, once for each key.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var order Order
	if err := json.NewDecoder(r.Body).Decode(&order); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_ = json.NewEncoder(w).Encode(s.make(order, r.Header.Get("Idempotency-Key")))
}

func (s *Service) make(order Order, key string) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests[order.ID]++
	if id, known := s.keys[key]; known && key != "" {
		return id
	}
	id = fmt.Sprintf("%s-%d of %s", s.name, len(s.made[order.ID])+1, order.ID)
	s.made[order.ID] = append(s.made[order.ID], id)
	s.keys[key] = id
	return id
}

// Of returns how many requests an order has sent, and what they have made.
func (s *Service) Of(orderID string) (requests int, made []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[orderID], s.made[orderID]
}

// Keys returns all keys that were sent.
func (s *Service) Keys() map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := map[string]bool{}
	for key := range s.keys {
		keys[key] = key != ""
	}
	return keys
}
