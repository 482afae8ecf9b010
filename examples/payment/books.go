package main

import "sync"

// Books are the ledger and the outgoing mail. In a shop they would be a table,
// written in the same transaction as the record.
type Books struct {
	mu     sync.Mutex
	ledger map[string]int // entries by order
	mail   map[string]int // receipts by order
}

func newBooks() *Books {
	return &Books{ledger: map[string]int{}, mail: map[string]int{}}
}

// Enter adds a ledger entry.
func (b *Books) Enter(r Receipt) { b.add(b.ledger, r) }

// Mail adds a receipt to the outgoing mail.
func (b *Books) Mail(r Receipt) { b.add(b.mail, r) }

func (b *Books) add(to map[string]int, r Receipt) {
	b.mu.Lock()
	defer b.mu.Unlock()
	to[r.OrderID]++
}

// Of tells how many entries and receipts an order has.
func (b *Books) Of(orderID string) (entries, receipts int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ledger[orderID], b.mail[orderID]
}
