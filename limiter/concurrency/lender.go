package concurrency

import "time"

// A Lender hands out the permits of a fleet.
type Lender interface {
	// Exchange sends r within a second or not at all, and calls answered once. If the call fails at
	// once, it calls answered before it returns, so the caller must hold no lock.
	Exchange(r *LeaseRequest, answered func(Grant, error))

	// Refusal returns why a request for a key would fail at once, or nil if it would not.
	Refusal(key []byte) error
}

// A LeaseRequest states what a node holds of a key, and asks for more.
type LeaseRequest struct {
	Rule uint32
	Key  string
	Node string // name of the node, which no other node and no earlier process has

	// Sequence numbers the requests of a node. A request must not take effect after a newer one.
	Sequence int64

	Limit int64
	Hold  int64 // how many permits the node keeps, even if that is above the limit
	Need  int64 // how many more permits requests wait for; the lender grants as many of these as are free
	Want  int64 // how many more permits it wants; the lender grants at most 1/Share of those free above Reserve

	Reserve, Share int64
	Lifetime       time.Duration // how long the lease lasts, from when the lender records it
}

// A Grant is how many permits a node may use from now on, and how many are free besides. Permits is
// less than what the node holds if all nodes together hold more than the limit, because some have
// admitted requests while the lender did not answer.
type Grant struct{ Permits, Free int64 }
