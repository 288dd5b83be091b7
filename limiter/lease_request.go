package limiter

import (
	"errors"
	"time"
)

// A LeaseRequest is what a node requests from a [Lender] for one key under one rule, with the
// reply. What goes back and what is owed is accounted for before anything is decided.
type LeaseRequest struct {
	Rule *Rule
	Key  []byte

	// Need is how many events a waiting take needs; 0 when none waits. It is served as a whole or
	// denied.
	Need int64

	// More is how many events further takes wait for. They are served as far as there are any, and
	// at most MaxMore at a time.
	More int64

	// Want is how many events the node wants at once: of a window, as many as it expects to spend
	// before its next request. At most one in Divisor of those that are left is granted: so leases
	// are large far from the limit and vanish near it.
	Want int64

	// Soon says that takes come for Want at once, so that all that is left may be granted for it.
	Soon bool

	// Share is the share of the refill of a bucket that the node wants, in 1/Shares: see Rule.Parts.
	// At most half of the refill that no part has is granted.
	Share int64

	// Nodes is how many nodes of the fleet are alive. 0 and 1 mean that the node is alone.
	Nodes int

	// Returns are leases, or what is left of them, that the node gives back.
	Returns [2]Return

	// Cancel are events that were served in vain at the instant At. Right after that, the bucket
	// lacked Lacked events beyond what its parts held, or hardly less than one more; 0: it is not known.
	Cancel Events
	Lacked int64

	// Seen is the newest state that the node knows: N events were used at the instant At. Another
	// incarnation of the store restores it when its own newest state is older.
	Seen Events

	// Incarnation is the incarnation of the store that Returns, Cancel and Seen are from; the reply
	// overwrites it with its own. Another incarnation takes nothing back, as it may not know of the
	// grant. When either is unknown, which is 0, nothing is taken back and nothing is restored.
	Incarnation uint64

	// Decision is the decision on a take of Need events, or on one of a single event that was not
	// taken when Need is 0. Its Remaining is what the store has left after the grant.
	Decision Decision

	// Served is how many events are consumed for the waiting takes, Need first.
	Served int64

	// Unserved is the decision on a further take of Need events, if Need was served and not all of
	// More was. Else it is the zero value.
	Unserved Decision

	// Granted is how many events were granted for Want, GrantedShare the share of a bucket's refill.
	// They may be spent until Expires, by the store's clock.
	Granted, GrantedShare int64
	Expires               Instant

	// Held is how many events the parts of a bucket hold after the grant, rounded up.
	Held int64
}

// A Return gives back what is left of a lease that was granted at the instant At, by the store's
// clock. It goes back to that window or slot, or nowhere when that has passed.
//
// Of a window's lease, N are the events that were not spent. Of a part of a bucket with a Share of
// the refill, N are the events that were granted at once less those that the node keeps to spend
// until the part ends, and Spent are the events that it has spent. Spent is MaxEvents if the part has
// accrued under another limit than that of the request, so that nothing of it is given back.
type Return struct {
	Events
	Spent, Share int64
}

func (r *Return) any() bool { return r.N > 0 || r.Share > 0 }

// A Lender is a store that grants leases. It has a clock of its own, so it ignores the instants
// that it is called with. All instants of its replies are by that clock.
type Lender interface {
	Store
	Operator

	// Lend fills in the replies to requests for one key, which are at most MaxLeaseRequests and of
	// different rules. Either all needs are served or none, and then nothing else is. It calls
	// done once, when the replies are there and possibly before it returns; done must not block.
	// An error means that the outcome is unknown: the request must not be sent again.
	//
	// It calls written, unless that is nil, when the requests have been written to the network, and
	// again if they have to be written again, but not after done. written must not block.
	Lend(requests []LeaseRequest, written func(), done func(error))

	// Lag returns by how much this process is late at present in dealing with what has arrived for
	// it; 0: it is punctual.
	Lag() time.Duration

	// Refusal returns the error that calls about this key fail with at once and without effect, as
	// its server is known to be in an outage; nil: it is not. It must not block.
	Refusal(key []byte) error
}

// ErrLate is the error of a store that has not answered in time, or has so much to do that it was
// not asked.
var ErrLate = errors.New("limiter: the store has not answered in time")

// ErrNotAsked is the error of a store that was not asked: the call had no effect.
var ErrNotAsked = errors.New("limiter: the store was not asked")

// MaxLeaseRequests bounds the requests of one call of [Lender].Lend.
const MaxLeaseRequests = 8

// ChangesCount reports whether l returns or cancels something, so that the count is
// written.
func (l *LeaseRequest) ChangesCount() bool {
	return l.Returns[0].any() || l.Returns[1].any() || l.Cancel.N > 0
}

// LackedAfter returns what a bucket lacks after the reply beyond what its parts hold: see Lacked. Of a
// fraction that the bucket has besides, it takes the most.
func (l *LeaseRequest) LackedAfter() int64 {
	lacked := l.Rule.capacity - l.Decision.Remaining
	if l.Rule.Algorithm.Kind == TokenBucket && l.Rule.slot > 0 {
		lacked -= l.Held + 1
	}
	return max(0, lacked)
}

// MaxMore bounds the events that are served at a time to waiting takes besides the first, to three
// bytes.
const MaxMore = 1<<24 - 1

const (
	// The divisors say which part of the events that are left a node gets at once that is alone: one
	// in windowDivisor, logDivisor or bucketDivisor.
	windowDivisor, logDivisor, bucketDivisor = 2, 8, 4

	// maxDivisor bounds Divisor, to two bytes.
	maxDivisor = 1<<16 - 1
)

// Divisor returns the part of what is left that is granted for Want: one in Divisor events. It
// grows with the number of nodes, as each may hold as much when all traffic moves to another one.
func (l *LeaseRequest) Divisor() int64 {
	if l.Soon {
		return 1
	}
	return min(algorithms[l.Rule.Algorithm.Kind].divisor(int64(max(1, l.Nodes))), maxDivisor)
}

// divisorOfWindow is the divisor of both algorithms that count in windows.
func divisorOfWindow(nodes int64) int64 { return max(windowDivisor, windowDivisor*nodes-1) }

// maxJitter bounds Jitter, in µs: a take that could be allowed again is denied for so long.
const maxJitter = 5_000

// Denial returns the decision that denies takes which the reply does not serve; nil: there is none.
// It is about a take of Need events, or of one if Need is 0.
func (l *LeaseRequest) Denial() *Decision {
	switch {
	case !l.Decision.OK:
		return &l.Decision
	case l.Need > 0 && l.Unserved.At != 0 && !l.Unserved.OK:
		return &l.Unserved
	}
	return nil
}

// Jitter returns by how many µs the denial in the reply is remembered too long at most, so that not
// all nodes ask again at once: an expired lease or a new window brings back many events at a time.
// For a bucket that has enough sooner than that, about one node asks per event that accrues.
func (l *LeaseRequest) Jitter() int64 {
	r, retry := l.Rule, int64(l.Decision.RetryAt-l.Decision.At)
	switch most := r.window / 20; {
	case l.Need == 0 || l.Decision.OK || l.Nodes < 2 || retry <= 0 || retry > 2*maxLease:
		return 0
	case r.Algorithm.Kind == TokenBucket && retry <= most:
		return min(most, int64(l.Nodes)*retry, maxJitter)
	default:
		return min(r.window/1000, maxJitter)
	}
}
