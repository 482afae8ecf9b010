// Package storetest is the contract of package store in code: a store is right
// when [Run] passes. It must know nothing of any store beyond the interface.
//
// A third party's store needs one test:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) storetest.Harness {
//			s, clock := newEmptyStore(t) // cleans up with t.Cleanup
//			return storetest.Harness{Store: s, Advance: clock.Advance, Close: s.Close}
//		})
//	}
package storetest

import (
	"testing"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// Harness is one store under test and the hands that the tests need on it.
type Harness struct {
	// Store is empty at first and used by nobody else.
	Store store.Store
	// Advance lets time pass by the store's own clock, which need not stand
	// still between two calls. Where d is negative the clock is set back. It is
	// called while other goroutines use the store, but never by two at once, and
	// sometimes not from the goroutine of the test. Steps are whole milliseconds.
	Advance func(d time.Duration)
	// Expires says that the store removes records by itself, as soon as Evict may
	// remove them (give or take a minute), and that Evict finds none left. The
	// tests then require that such records go by themselves, and no others.
	Expires bool
	// Admin is the operators' side of Store, for [Model]. nil: it has none.
	Admin store.Admin
	// Bounded makes another harness, as the factory does, of a store that keeps at
	// most so many records. nil: the store has no such bound, and none is tested.
	Bounded func(t *testing.T, records int) Harness
	// Close closes the store, after which its methods answer
	// [store.ErrClosed]. nil: the store cannot be closed, and that is not tested.
	Close func()
}

// Factory makes a harness and cleans up after it with t.Cleanup. It is called
// once for each concern, from parallel tests, and every store that it makes has
// records and a clock of its own.
type Factory func(t *testing.T) Harness

// concern is one group of subtests, which share a store and run in order.
type concern struct {
	name  string
	tests []named
}

// named is one subtest; its name is the sentence that it proves.
type named struct {
	name string
	run  func(k *kit)
}

// Run tests a store against the whole contract.
func Run(t *testing.T, factory Factory) {
	t.Helper()
	for _, c := range concerns() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := factory(t)
			for _, test := range c.tests {
				t.Run(test.name, func(t *testing.T) { test.run(newKit(t, h)) })
			}
		})
	}
}

func concerns() []concern {
	return []concern{
		{"Reserve", reserveTests()},
		{"Acquire", acquireTests()},
		{"Renew", renewTests()},
		{"Complete", completeTests()},
		{"Fail", failTests()},
		{"Release", releaseTests()},
		{"Hold", holdTests()},
		{"Pend", pendTests()},
		{"Settle from every state", transitionTests()},
		{"Fencing", fencingTests()},
		{"Lost acknowledgements", lostAckTests()},
		{"Claim", claimTests()},
		{"Evict", evictTests()},
		{"Bounds", boundsTests()},
		{"Maintenance", maintenanceTests()},
		{"Payloads", payloadTests()},
		{"Batches", batchTests()},
		{"Races", raceTests()},
		{"Cancellation", cancelTests()},
		{"Close", closeTests()},
	}
}
