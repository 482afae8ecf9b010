package crashtest

import "fmt"

// Window is a place in the life of a call where its worker can be killed.
type Window int

// The windows, in the order in which a call passes them.
const (
	// BeforeReservation: the activity has begun, no record exists.
	BeforeReservation Window = iota + 1
	// BeforeEffect: the reservation is committed and the body runs, but the
	// provider has not heard of the order.
	BeforeEffect
	// BeforeRecord: the provider has charged, the record is still open.
	BeforeRecord
	// BeforeReport: the record is completed, Temporal has not heard.
	BeforeReport
	// AfterReport: Temporal has acknowledged the result.
	AfterReport
)

// Windows returns all of them.
func Windows() []Window {
	return []Window{BeforeReservation, BeforeEffect, BeforeRecord, BeforeReport, AfterReport}
}

// String says where the worker died.
func (w Window) String() string {
	switch w {
	case BeforeReservation:
		return "before the reservation commits"
	case BeforeEffect:
		return "after the reservation, before the effect"
	case BeforeRecord:
		return "after the effect, before the record"
	case BeforeReport:
		return "after the record, before Temporal hears"
	case AfterReport:
		return "after Temporal has heard"
	default:
		return fmt.Sprintf("Window(%d)", int(w))
	}
}

// Keys is what a provider does with idempotency keys.
type Keys string

// The two kinds of provider.
const (
	// IgnoresKeys: every request is a charge.
	IgnoresKeys Keys = "ignores"
	// HonoursKeys: a known key is answered with its first charge.
	HonoursKeys Keys = "honours"
)
