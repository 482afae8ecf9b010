package main

import (
	"crypto/rand"
	"fmt"
	"strings"
)

// newOrders returns orders whose IDs no other run of this program has, so that
// it can be run again over the same database.
func newOrders(n int) []Order {
	run := strings.ToLower(rand.Text()[:6])
	orders := make([]Order, n)
	for i := range orders {
		orders[i] = Order{
			ID:    fmt.Sprintf("order-%s-%02d", run, i+1),
			Cents: int64(1990 + 735*(i%13)),
		}
	}
	return orders
}

// prefixOf is what the IDs of a run's orders begin with.
func prefixOf(orders []Order) string {
	id := orders[0].ID
	return id[:strings.LastIndex(id, "-")+1]
}

// euros writes an amount for people.
func euros(cents int64) string { return fmt.Sprintf("%d.%02d EUR", cents/100, cents%100) }
