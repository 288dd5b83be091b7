package concurrency

import "time"

// A Lender hands out the permits of a fleet.
type Lender interface {
	// Exchange sends r within a second or not at all, and calls answered once. It does so even if the
	// call fails at once, so a caller must hold no lock.
	Exchange(r *Request, answered func(Grant, error))

	// Refusal returns why a request for a key would fail at once, or nil if it would not.
	Refusal(key []byte) error
}

// A Request states what a node holds of a key, and asks for more.
type Request struct {
	Rule uint32
	Key  string
	Node string // which no other node has, and no earlier process

	// Sequence numbers the requests of a node. An older one must not take effect after a newer one.
	Sequence int64

	Limit int64
	Hold  int64 // permits that the node keeps, also if that is above the limit
	Need  int64 // further ones that requests wait for: as many of them as are free
	Want  int64 // further ones: at most 1/Share of those that are free above Reserve

	Reserve, Share int64
	Lifetime       time.Duration // of the lease, from when the lender records it
}

// A Grant is how many permits a node may use from now on, and how many are free besides. Permits are
// less than what it holds if all nodes together hold more than the limit: because some have admitted
// requests while the lender did not answer.
type Grant struct{ Permits, Free int64 }
