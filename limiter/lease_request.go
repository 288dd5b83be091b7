package limiter

import "errors"

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

	// Want is how many events the node expects to spend before its next request. At most a share of
	// what is left is granted, see Divisor: so leases are large far from the limit and vanish near
	// it.
	Want int64

	// Nodes is how many nodes of the fleet are alive. 0 and 1 mean that the node is alone.
	Nodes int

	// Returns are events that were granted at the instant At, by the store's clock, and not spent.
	// They go back to that window or slot, or nowhere when it has passed.
	Returns [2]Events

	// Cancel are events that were served in vain at the instant At.
	Cancel Events

	// CreditTotal is the running total of the events that the node has admitted on credit for this
	// count, SettledTotal the part of it that the store is known to have debited. The store debits
	// the difference whatever is left, and never twice.
	CreditTotal, SettledTotal int64

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

	// Granted is how many events were granted for Want. They may be spent until Expires, by the
	// store's clock.
	Granted int64
	Expires Instant
}

// A Lender is a store that grants leases. It has a clock of its own, so it ignores the instants
// that it is called with. All instants of its replies are by that clock.
type Lender interface {
	Store
	Operator

	// Lend fills in the replies to requests for one key, which are at most MaxLeaseRequests and of
	// different rules. Either all needs are served or none, and then nothing else is. It calls
	// done once, when the replies are there and possibly before it returns; done must not block.
	// An error means that the outcome is unknown: the request must not be sent again.
	Lend(requests []LeaseRequest, done func(error))

	// Answers reports whether the server that has this key answers. Then ErrLate means that too much
	// waits for it, not that there is an outage.
	Answers(key []byte) bool

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

// ChangesCount reports whether l returns, cancels or settles something, so that the count is
// written.
func (l *LeaseRequest) ChangesCount() bool {
	return l.Returns[0].N > 0 || l.Returns[1].N > 0 || l.Cancel.N > 0 || l.CreditTotal > l.SettledTotal
}

// MaxMore bounds the events that are served at a time to waiting takes besides the first, to three
// bytes.
const MaxMore = 1<<24 - 1

const (
	// share is the part of what is left that is granted to a node that is alone: one in share
	// events.
	share = 8

	// maxDivisor bounds Divisor, to two bytes.
	maxDivisor = 1<<16 - 1
)

// Divisor returns the part of what is left that is granted for Want: one in Divisor events. It
// grows with the number of nodes, as each may hold as much when all traffic moves to another one.
func (l *LeaseRequest) Divisor() int64 { return min(share*int64(max(1, l.Nodes)), maxDivisor) }

// leaseJitter bounds Jitter for a denial that ends when a lease expires, in µs.
const leaseJitter = 20_000

// Jitter returns by how many µs the denial in the reply is remembered too long at most, so that not
// all nodes ask again at once. For a bucket that soon has enough, about one node asks per event
// that accrues. Else it is short: an expired lease brings back many events at a time, and a new
// window all of them.
func (l *LeaseRequest) Jitter() int64 {
	r, retry := l.Rule, int64(l.Decision.RetryAt-l.Decision.At)
	switch most := r.window / 20; {
	case l.Need == 0 || l.Decision.OK || l.Nodes < 2 || retry <= 0 || retry > 2*maxLease:
		return 0
	case r.Algorithm.Kind == TokenBucket && retry <= most:
		return min(most, int64(l.Nodes)*retry)
	default:
		return min(r.window/1000, leaseJitter)
	}
}
