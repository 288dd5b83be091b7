package limiter

import (
	"errors"
	"time"
)

// A LeaseRequest is what a node asks a [Lender] about one key under one rule, with the answer. What goes back and what is owed is
// dealt with before anything is decided.
type LeaseRequest struct {
	Rule *Rule
	Key  []byte

	// Need is how many events a take needs that waits for the answer; 0 when none waits. It is served or denied as a whole.
	Need int64

	// More is how many events further takes wait for: served as far as there are any, and at most MaxMore at a time.
	More int64

	// Want is how many events the node expects to spend before it asks again. At most a share of what is left is lent for it, see
	// Divisor: so leases are large far from the limit, and exactness returns where it matters.
	Want int64

	// Nodes is how many nodes of the fleet are alive; 0 or 1: the node is alone.
	Nodes int

	// Returns are events that were lent at the instant At, by the store's clock, and not spent. They go back where they came from,
	// or nowhere when that has passed.
	Returns [2]Events

	// Cancel are events that were served at the instant At, in vain.
	Cancel Events

	// CreditTotal is how many events the node has ever admitted for this count before the store had answered, Paid how many of them it
	// knows the store to have debited. The difference is debited unconditionally, and never twice.
	CreditTotal, SettledTotal int64

	// Seen is the newest state that the node was told of: so many events were used at the instant At. Another run of the store
	// restores it when the newest write that it knows of is older.
	Seen Events

	// Incarnation tells which run of the store Back, Undo and Seen come from; the answer overwrites it by its own. Another run takes
	// nothing back, as it may not know of the loan, and may have lost what was seen. When either run is unknown, which is 0,
	// nothing is taken back and nothing is restored.
	Incarnation uint64

	// Decision is the answer to a take of Need events, or of one event that was not asked for when Need is 0. Its Remaining is
	// what the store has left after the loan.
	Decision Decision

	// Served is how many events are consumed for the takes that wait, Need first.
	Served int64

	// Granted is how many events have been lent for Want. They can be spent until Ends, by the store's clock.
	Granted int64
	Expires Instant
}

// A Lender is a store that lends events.
type Lender interface {
	Store

	// Lend answers loans of one key, at most MaxLoans of them with different rules, as one: either all needs are served or
	// none, and then nothing else is. When the loans hold their answers, answered is called, once, and must not block; it
	// may be called before Lend returns. An error says that the outcome is unknown: what was lent, given back, or paid may
	// be so or not, and is not to be asked for a second time.
	Lend(loans []LeaseRequest, answered func(error))

	// Answers reports whether the server that has this key answers: it has been asked nothing, or nothing that it has left unanswered
	// for so long. Then an error that is ErrLate says that too much is waiting for it, and not that there is an outage.
	Answers(key []byte, within time.Duration) bool
}

// ErrLate says that a store has not answered in time, or has so much to do that it was not asked.
var ErrLate = errors.New("limiter: the store has not answered in time")

// MaxLeaseRequests is how many loans a call of [Lender].Lend has at most.
const MaxLeaseRequests = 8

// ChangesCount reports whether something goes back or is owed. Then the count is written.
func (l *LeaseRequest) ChangesCount() bool {
	return l.Returns[0].N > 0 || l.Returns[1].N > 0 || l.Cancel.N > 0 || l.CreditTotal > l.SettledTotal
}

// MaxMore bounds how many events are served at a time to takes that wait besides the first, to three bytes.
const MaxMore = 1<<24 - 1

const (
	// share is the part of what is left that is lent for what a node only wants, when it is alone: one in so many events.
	share = 8

	// maxDivisor bounds what Divisor returns, to two bytes.
	maxDivisor = 1<<16 - 1
)

// Divisor returns which part of what is left is lent for what the node only wants: one in so many events. It goes by the number of
// nodes, as each of them may hold as much when all traffic moves to another one.
func (l *LeaseRequest) Divisor() int64 { return min(share*int64(max(1, l.Nodes)), maxDivisor) }

// leaseJitter is what Jitter returns at most for a denial that ends when a lease does, in µs.
const leaseJitter = 20_000

// Jitter returns by how many µs longer than it lasts the denial of the loan is remembered at most, so that not all nodes ask again at
// once. For a bucket that soon has enough, it is so long that about one node asks per event that accrues. Else it is short: a lease
// that ends brings back many events at a time, and a window that begins all of them.
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
