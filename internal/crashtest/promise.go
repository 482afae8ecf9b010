package crashtest

import "github.com/seed5aa7bdf6/temporal-dedupe/store"

// Promise says what the order is promised whose worker is killed in the cell's
// window. Its neighbours die wherever they are, and each is promised what its
// own window promises.
func (c *Cell) Promise() string {
	if c.Policy == "" {
		return "none: nothing remembers the call"
	}
	switch c.Window {
	case BeforeReservation:
		return "charged once: nothing had begun"
	case BeforeEffect:
		switch c.Policy {
		case store.Refuse:
			return "held, not charged: nobody knows"
		case store.Verify:
			return "charged once: the verifier says no"
		}
		return "charged once: the body runs again"
	case BeforeRecord:
		switch {
		case c.Policy == store.Refuse:
			return "held, charged once: nobody knows"
		case c.Policy == store.Verify:
			return "charged once: the verifier says yes"
		case c.Keys == HonoursKeys:
			return "charged once: the body runs again, same key"
		}
		return "may be charged again: the body runs again"
	case BeforeReport:
		return "charged once: replayed"
	default:
		return "charged once: Temporal has the result"
	}
}

// mayChargeAgain tells whether the promise allows an order's second charge: only
// where keys are ignored and bodies are run again, and only if the first record
// was taken over before it was complete.
func (c *Cell) mayChargeAgain(a Account) bool {
	if c.Policy != store.Reexecute || c.Keys != IgnoresKeys || len(a.Records) != 1 {
		return false
	}
	return len(a.Charges) <= a.Records[0].Acquisitions && !c.settledAtKill(a)
}

// settledAtKill tells whether an order's record was complete when the worker
// was killed.
func (c *Cell) settledAtKill(a Account) bool {
	return a.Victim && (c.Window == BeforeReport || c.Window == AfterReport)
}

// faults returns the promises that an order's account breaks.
func (c *Cell) faults(a Account) (broken []string) {
	fault := func(is bool, text string) {
		if is {
			broken = append(broken, text)
		}
	}
	end := c.end(a)
	fault(end == lost, "lost: provider, record and workflow do not agree")
	fault(len(a.Records) != 1, "has not one record")
	fault(end == paid && len(a.Charges) == 0, "not charged")
	fault(len(a.Charges) > 1 && !c.mayChargeAgain(a), "charged more than once")
	fault(c.Policy == store.Refuse && a.Bodies > 1, "a second body ran")
	for _, r := range a.Records {
		fault(a.Bodies > r.Acquisitions, "more bodies than acquisitions of the record")
	}
	if a.Victim {
		broken = append(broken, c.victimFaults(a, end)...)
	}
	return broken
}

// victimFaults returns what the account of the order that was designated breaks
// of the cell's own promise.
func (c *Cell) victimFaults(a Account, end end) (broken []string) {
	doubt := c.Window == BeforeEffect || c.Window == BeforeRecord
	again := a.Bodies - a.BodiesAtKill
	switch {
	case c.Policy == store.Refuse && doubt:
		if end != held {
			broken = append(broken, "not held")
		}
		if want := c.Window == BeforeRecord; (len(a.Charges) == 1) != want {
			broken = append(broken, "charged although its body never got there, or not charged although it did")
		}
	case end != paid:
		broken = append(broken, "not paid")
	}
	if c.settledAtKill(a) && again != 0 {
		broken = append(broken, "a body ran after the record was complete")
	}
	if c.Policy == store.Verify && c.Window == BeforeRecord && again != 0 {
		broken = append(broken, "a body ran although the verifier knew the charge")
	}
	if c.Policy != store.Refuse && c.Window == BeforeEffect && again == 0 {
		broken = append(broken, "charged without a body")
	}
	return broken
}
