package crashtest

import (
	"fmt"
	"slices"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// Cell is a window, a policy and a provider, and what was counted there.
type Cell struct {
	// Window is where the workers were killed.
	Window Window
	// Policy is the takeover policy; empty without deduplication.
	Policy store.TakeoverPolicy
	// Keys is the provider.
	Keys Keys

	// Kills is how many workers were killed, and Orders how many orders they
	// worked on.
	Kills, Orders int
	// Paid, Held and Lost is how the orders ended: with a charge and a record of
	// it; refused, for an operator to look at; in any other way.
	Paid, Held, Lost int
	// Bodies is how many bodies began, Charges how many charges were made.
	Bodies, Charges int
	// Again is how many charges were a second one of an order where the promise
	// allows that; Duplicates how many were where it does not.
	Again, Duplicates int
	// Broken says which promises were broken, with the order's account.
	Broken []string
}

// Add counts the orders of a lane, whose worker was killed in the cell's window.
func (c *Cell) Add(accounts []Account) {
	c.Kills++
	for _, a := range accounts {
		c.Orders++
		c.Bodies += a.Bodies
		c.Charges += len(a.Charges)
		switch c.end(a) {
		case paid:
			c.Paid++
		case held:
			c.Held++
		default:
			c.Lost++
		}
		if extra := len(a.Charges) - 1; extra > 0 {
			if c.mayChargeAgain(a) {
				c.Again += extra
			} else {
				c.Duplicates += extra
			}
		}
		if c.Policy == "" {
			continue // nothing was promised
		}
		for _, fault := range c.faults(a) {
			c.Broken = append(c.Broken, fmt.Sprintf("%s, %s, keys %s: order %s: %s: %s", c.Policy, c.Window, c.Keys, a.Order, fault, describe(a)))
		}
	}
}

// end is how an order ended.
type end int

const (
	lost end = iota
	paid
	held
)

// end tells how an order ended, by all who know: they must agree.
func (c *Cell) end(a Account) end {
	switch {
	case a.Err == nil && slices.Contains(a.Charges, a.ChargeID) && c.agrees(a):
		return paid
	case a.Refused() && c.Policy == store.Refuse && len(a.Records) == 1 && (a.Records[0].Held || a.Records[0].Status == store.StatusCompleted):
		// Completed: the owner, which was thought dead, has finished after all.
		return held
	default:
		return lost
	}
}

// agrees tells whether the record says what the workflow says.
func (c *Cell) agrees(a Account) bool {
	if c.Policy == "" {
		return true
	}
	return len(a.Records) == 1 && a.Records[0].Status == store.StatusCompleted && !a.Records[0].Held && a.Records[0].ChargeID == a.ChargeID
}

func describe(a Account) string {
	role := "neighbour"
	if a.Victim {
		role = fmt.Sprintf("victim, %d bodies before the kill", a.BodiesAtKill)
	}
	return fmt.Sprintf("%s; %d bodies, charges %v, records %+v, result %q, error %v", role, a.Bodies, a.Charges, a.Records, a.ChargeID, a.Err)
}
