package limiter

import (
	"errors"
	"time"
)

// A LeaseRequest is what a node requests from a [Lender] for one key under one rule, with the
// reply. The lender accounts for Seen, Returns and Cancel before it decides anything.
type LeaseRequest struct {
	Rule *Rule
	Key  []byte

	// Need is how many events a waiting take needs, or 0 if no take waits. It is served as a whole or
	// denied.
	Need int64

	// More is how many events further takes wait for. As many of them are served as are left, but at
	// most MaxMore at a time.
	More int64

	// Want is how many events the node wants to lease at once. In a window, that is as many as it
	// expects to spend before its next request. At most one in Divisor of the events that are left is
	// granted. So leases are large far from the limit and vanish near it.
	Want int64

	// Busy says that takes come for Want at once, so that all that is left may be granted for it.
	Busy bool

	// Share is the share of a bucket's refill that the node wants, in 1/Shares: see parts.go. At most
	// half of the refill that no open part has is granted.
	Share int64

	// Nodes is how many nodes of the fleet are alive. 0 and 1 mean that the node is alone.
	Nodes int

	// Returns are leases, or the events that are left of them, that the node gives back.
	Returns [2]Return

	// Spends say when the events that are Spent of Returns[1] were spent, if the lease was one of a
	// bucket without a share. They are at most as many. Events that are left out are as if they were
	// spent just now.
	Spends Spends

	// Cancel are events that the store served at the instant Cancel.At, and that no take has used.
	// Lacked is how many events the bucket lacked at least right after that, beyond what its parts
	// held. It is 0 if that is not known.
	Cancel Events
	Lacked int64

	// Seen is the newest state that the node knows: N events were used at the instant At. Another
	// incarnation of the store restores it when its own newest state is older.
	Seen Events

	// Incarnation is the incarnation of the store that Returns, Cancel and Seen are from. The reply
	// overwrites it with the incarnation that has answered. Another incarnation takes nothing back,
	// because it may not know of the grant. If either incarnation is 0, which means unknown,
	// nothing is taken back and nothing is restored.
	Incarnation uint64

	// Decision is the decision on the take of Need events. If Need is 0, it is the decision that a
	// take of one event would have got. Decision.Remaining is what the store has left after the
	// grant.
	Decision Decision

	// Served is how many events are consumed for the waiting takes, Need first.
	Served int64

	// Unserved is the decision on a further take of Need events, if Need was served and a part of More
	// was not. Otherwise it is the zero value.
	Unserved Decision

	// Granted is how many events were granted for Want, and GrantedShare is the share of a bucket's
	// refill that was granted for Share. Both may be spent until Expires, by the store's clock.
	Granted, GrantedShare int64
	Expires               Instant

	// Held is how many events the parts of a bucket hold after the grant, rounded up.
	Held int64

	// Ample says that the bucket is ample after the reply, so that it lends large parts without a share
	// for a long time.
	Ample bool

	// RecalledAt is when the store has recalled the parts of the bucket: it has told all nodes to
	// return what they hold, because takes were denied or few events were left. It is 0 if the store
	// may recall them again when that is so. A bucket is not ample until then.
	RecalledAt Instant
}

// A Return gives back what is left of a lease that was granted at the instant At, by the store's
// clock. The events go back to the window or slot of that instant. They are lost if it has passed.
//
// For the lease of a window, N is the number of events that were not spent. For a part of a bucket,
// Share is its share of the refill, N is the number of events granted at once less those that the
// node keeps to spend until the part ends, and Spent is the number of events that the node has
// spent. Spent is MaxEvents if the part has accrued under another limit than that of the request,
// so that no events are given back.
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

	// Lend fills in the replies to requests for one key. There are at most MaxLeaseRequests requests,
	// each of another rule. Either all needs are served, or no events are served at all. Lend calls
	// done once, when the replies are there, and possibly before it returns. done must not block. An
	// error means that the outcome is unknown: the requests must not be sent again.
	//
	// Lend calls written, unless that is nil, when the requests have been written to the network.
	// It calls written again if they have to be written again, but not after done. written must not
	// block.
	Lend(requests []LeaseRequest, written func(), done func(error))

	// Lag returns by how much this process is late at present in reading the replies that have
	// arrived. It is 0 if the process is punctual.
	Lag() time.Duration

	// Refusal returns the error with which calls about this key fail at once and without effect,
	// because the key's server is known to be in an outage. It returns nil if the server is not. It
	// must not block.
	Refusal(key []byte) error
}

// ErrLate is the error of a store that has not answered in time, or has so much to do that it was
// not asked.
var ErrLate = errors.New("limiter: the store has not answered in time")

// ErrNotAsked is the error of a store that was not asked: the call had no effect.
var ErrNotAsked = errors.New("limiter: the store was not asked")

// MaxLeaseRequests bounds the requests of one call of [Lender].Lend.
const MaxLeaseRequests = 8

// ChangesCount reports whether l returns or cancels events, so that the count is written.
func (l *LeaseRequest) ChangesCount() bool {
	return l.Returns[0].any() || l.Returns[1].any() || l.Cancel.N > 0
}

// LackedAfter returns how many events a bucket lacks at least after the reply, beyond what its
// parts hold: see Lacked. The fraction of an event that a bucket with parts has accrued is not
// known, so LackedAfter takes off a whole event for it.
func (l *LeaseRequest) LackedAfter() int64 {
	lacked := l.Rule.capacity - l.Decision.Remaining
	if l.Rule.Algorithm.Kind == TokenBucket && l.Rule.slot > 0 {
		lacked -= l.Held + 1
	}
	return max(0, lacked)
}

// MaxMore is the most events of More that are served at a time: the most that fit into three bytes.
const MaxMore = 1<<24 - 1

const (
	// The divisors of a node that is alone: it gets at once one in windowDivisor, logDivisor or
	// bucketDivisor of the events that are left.
	windowDivisor, logDivisor, bucketDivisor = 2, 8, 4

	// maxDivisor is the most that Divisor returns: the most that fits into two bytes.
	maxDivisor = 1<<16 - 1
)

// Divisor returns the divisor of grants: of the events that are left, at most one in Divisor is
// granted for Want. It grows with the number of nodes, because all nodes may hold leases when all
// traffic moves to one of them.
func (l *LeaseRequest) Divisor() int64 {
	if l.Busy {
		return 1
	}
	return min(algorithms[l.Rule.Algorithm.Kind].divisor(int64(max(1, l.Nodes))), maxDivisor)
}

// divisorOfWindow is the divisor of both algorithms that count in windows.
func divisorOfWindow(nodes int64) int64 { return max(windowDivisor, windowDivisor*nodes-1) }

// maxJitter bounds Jitter, in µs. For that time, a node may deny takes that the store would allow.
const maxJitter = 5_000

// Denial returns the decision that denies the takes that the reply does not serve. It returns nil
// if the reply denies none. The decision is about a take of Need events, or of one event if Need is
// 0.
func (l *LeaseRequest) Denial() *Decision {
	switch {
	case !l.Decision.OK:
		return &l.Decision
	case l.Need > 0 && l.Unserved.At != 0 && !l.Unserved.OK:
		return &l.Unserved
	}
	return nil
}

// Jitter returns by at most how many µs a node remembers the denial in the reply for too long.
// Without it, all nodes would ask again at once when an expired lease or a new window brings back
// many events. In a bucket that soon has enough events, the nodes' requests are spread so that
// about one node asks for each event that accrues.
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
