package store

// Selective is implemented, beside [Store], by stores that cannot keep the
// promise of every takeover policy. A store without it supports all of them.
type Selective interface {
	// Supports answers nil, or an error that says why the policy cannot be kept
	// and what to do. The store refuses reservations and acquisitions with such a
	// policy, with an error that wraps [ErrInvalidArgument]; who asks beforehand
	// can refuse to start.
	Supports(policy TakeoverPolicy) error
}
