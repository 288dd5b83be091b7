package leasetest

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/lease"
)

// A fault is a bug that is planted in a simulation to be found: what tampers with it between a node
// and the store, between a node and its clients, or with the options of the node's store. The zero
// fault is none.
type fault struct {
	name        string
	boundsOnly  bool               // it must be found by the bounds alone
	algorithm   *limiter.Algorithm // where the fault is; nil for all
	limit       limiter.Limit      // that it needs; without events: any
	prepare     func(*simulation)  // makes it likely
	maxWait     time.Duration      // of the limit
	variety     variety            // that it needs
	keepsLeases bool               // nodes that are told of a reset drop the denial alone
	from        uint64             // the first seed: what is rare need not be looked for each time

	options func(*simNode, *lease.Options)
	decide  func(n *simNode, h *heldKey, take *limiter.Take) bool // in place of the node's store
	turn    func(*Ledger, *limiter.Rule)                          // before the store decides a take that may wait
	send    func(*simNode, *limiter.LeaseRequest)
	reset   func(*Ledger)                                  // after the store has reset a key
	quota   func(events int64) int64                       // that is added
	charge  func(events int64) int64                       // by the store
	refund  func(*Ledger, *limiter.Take, limiter.Instant)  // after the store has refunded a take
	lend    func(*simNode, *Ledger, *limiter.LeaseRequest) // before the store decides
	lent    func(*simNode, *Ledger, *limiter.LeaseRequest)
	answer  func(n *simNode, l *limiter.LeaseRequest, took limiter.Instant)
	fail    func(n *simNode, l *limiter.LeaseRequest) error // what the node is told of a call that has succeeded
}

var faults = []fault{
	{
		name:       "return credited twice",
		boundsOnly: true,
		limit:      limiter.Limit{Events: 50, Window: time.Second},
		prepare:    func(s *simulation) { s.attack, s.greed = true, 20 },
		lend: func(_ *simNode, _ *Ledger, l *limiter.LeaseRequest) {
			if l.Returns[1].N == 0 {
				l.Returns[1] = l.Returns[0]
			}
		},
	},
	{
		name:       "served events cancelled twice",
		from:       40,
		boundsOnly: true,
		prepare:    loseMany,
		lend:       func(_ *simNode, _ *Ledger, l *limiter.LeaseRequest) { l.Cancel.N *= 2 },
	},
	{
		name:       "lease spent after its end",
		from:       40,
		boundsOnly: true,
		answer:     func(_ *simNode, l *limiter.LeaseRequest, _ limiter.Instant) { l.Expires += 200 * ms },
	},
	{
		name:    "lease whose end counts from the answer",
		prepare: delayMany,
		answer:  func(_ *simNode, l *limiter.LeaseRequest, took limiter.Instant) { l.Expires += took },
	},
	{
		name:    "late grant spent after its window",
		prepare: delayMany,
		answer: func(n *simNode, l *limiter.LeaseRequest, took limiter.Instant) {
			if l.Expires > 0 && l.Expires <= n.now() {
				l.Expires += took + limiter.Instant(l.Rule.LeaseTime())
			}
		},
	},
	{
		name:      "late return into the next window",
		algorithm: &fixed,
		limit:     limiter.Limit{Events: 50, Window: time.Second},
		prepare:   delayMany,
		lend:      func(n *simNode, _ *Ledger, l *limiter.LeaseRequest) { l.Returns[0].At = n.now() },
	},
	{
		name: "return to a store that does not know of it",
		from: 15,
		prepare: func(s *simulation) {
			s.after(s.rng.Int64N(2*s.limit.Limit.Window.Microseconds()), func() { s.store.failOver() })
		},
		lend: func(n *simNode, _ *Ledger, l *limiter.LeaseRequest) { l.Incarnation = n.simulation.store.incarnation },
	},
	{
		name:       "grant above what is left",
		from:       30,
		boundsOnly: true,
		lent: func(_ *simNode, g *Ledger, l *limiter.LeaseRequest) {
			if l.Granted > 0 && l.Granted < l.Want {
				g.count.consume(l.Rule, 0)
				l.Granted = l.Want
			}
		},
	},
	{
		name:       "bucket that refills as if no part was open",
		boundsOnly: true,
		algorithm:  &bucket,
		limit:      limiter.Limit{Events: 400, Window: 10 * time.Second},
		prepare:    strikeFast,
		lend: func(_ *simNode, g *Ledger, _ *limiter.LeaseRequest) {
			b := g.count.(*countedLending).lendingCount.(*lendingBucket)
			b.current.shares, b.current.accrues, b.previous.shares, b.previous.accrues = 0, 0, 0, 0
		},
	},
	{
		name:       "part that accrues after its end",
		boundsOnly: true,
		algorithm:  &bucket,
		limit:      limiter.Limit{Events: 400, Window: 10 * time.Second},
		prepare:    strikeFast,
		answer: func(_ *simNode, l *limiter.LeaseRequest, _ limiter.Instant) {
			l.Expires += limiter.Instant(2 * l.Rule.LeaseSlot())
		},
	},
	{
		name:       "spent events of a part returned",
		boundsOnly: true,
		algorithm:  &bucket,
		limit:      limiter.Limit{Events: 400, Window: 10 * time.Second},
		prepare:    strikeFast,
		lend: func(_ *simNode, _ *Ledger, l *limiter.LeaseRequest) {
			for i := range l.Returns {
				l.Returns[i].Spent = 0
			}
		},
	},
	{
		name:       "canceled though the bucket has refilled since, beside what its parts hold",
		from:       240,
		boundsOnly: true,
		algorithm:  &bucket,
		limit:      limiter.Limit{Events: 400, Window: 10 * time.Second},
		prepare:    func(s *simulation) { s.net, s.checker.regrets = network{delay: 5 * ms, regret: 0.02}, true },
		lend:       func(_ *simNode, _ *Ledger, l *limiter.LeaseRequest) { l.Lacked = l.Rule.Capacity() },
	},
	{
		name: "script run twice",
		lend: func(n *simNode, g *Ledger, l *limiter.LeaseRequest) {
			lendOne(g, n.simulation.store.incarnation, n.now(), *l)
		},
	},
	{
		name:       "fraction of an event read as a numerator over another rate's denominator",
		from:       40,
		boundsOnly: true,
		algorithm:  &bucket,
		limit:      limiter.Limit{Events: 201, Window: time.Second, Burst: 5}, // in 1/1000000 of an event
		prepare: func(s *simulation) {
			s.after(s.rng.Int64N(100*ms), func() { s.setLimit(202, s.limit.Limit.Burst) }) // in 1/500000
		},
		lend: func(_ *simNode, g *Ledger, l *limiter.LeaseRequest) {
			g.count.(*countedLending).lendingCount.(*lendingBucket).misreadFraction(l.Rule)
		},
	},
	{
		name:       "late take admitted whatever the local bucket holds",
		boundsOnly: true,
		limit:      limiter.Limit{Events: 50, Window: 3 * time.Second},
		prepare:    delayMany,
		decide: func(n *simNode, h *heldKey, take *limiter.Take) bool {
			take.Err = lease.ErrTimeout
			return h.overdue(n.now()-10*sec, n.now()) && n.decides(take, limiter.FromLate)
		},
	},
	{
		name: "late take though each request was answered in time",
		decide: func(n *simNode, h *heldKey, take *limiter.Take) bool {
			take.Err = lease.ErrTimeout
			return h.denied && n.decides(take, limiter.FromLate)
		},
	},
	{
		name:    "late take debited twice",
		prepare: func(s *simulation) { s.net = network{delay: 24 * ms, jitter: 10 * ms} },
		answer: func(_ *simNode, l *limiter.LeaseRequest, took limiter.Instant) {
			if l.Need > 0 && took > timeout {
				l.Served, l.Decision.OK, l.Unserved = 0, false, limiter.Decision{}
			}
		},
	},
	{
		name: "denial remembered beyond a raised limit",
		prepare: func(s *simulation) {
			s.after(s.rng.Int64N(int64(window(s.rule))), func() { s.setLimit(3*s.limit.Limit.Events, 3*s.limit.Limit.Burst) })
		},
		decide: func(n *simNode, h *heldKey, take *limiter.Take) bool {
			last := len(h.denials) - 1
			return h.denied && h.denials[last].rule != take.Rule && n.now() < h.denials[last].at+denialMemory &&
				n.decides(take, limiter.FromRememberedDenial)
		},
	},
}

func loseMany(s *simulation) { s.net.loseRequest, s.net.loseAnswer, s.net.late = 0.1, 0.1, 0.1 }

// strikeFast has nodes that want much strike on a fast network.
func strikeFast(s *simulation) { s.net, s.attack, s.greed = network{delay: 200}, true, 20 }

func delayMany(s *simulation) { s.net.late = 0.3 }

// decides has a take decided in place of the node's store.
func (n *simNode) decides(take *limiter.Take, from limiter.Source) bool {
	now, r := n.clock(), take.Rule
	take.Decision = limiter.Decision{
		OK: from != limiter.FromRememberedDenial, Source: from, At: now, Limit: r.Capacity(), RetryAt: now + sec, ResetAt: now + sec,
	}
	return true
}

func (f *fault) changeOptions(n *simNode, o *lease.Options) {
	if f.options != nil {
		f.options(n, o)
	}
}

func (f *fault) decides(n *simNode, key int, take *limiter.Take) bool {
	return f.decide != nil && f.decide(n, n.key(key), take)
}

func (f *fault) afterReset(g *Ledger) {
	if f.reset != nil {
		f.reset(g)
	}
}

func (f *fault) quotaOf(events int64) int64 {
	if f.quota == nil {
		return events
	}
	return f.quota(events)
}

func (f *fault) chargeOf(events int64) int64 {
	if f.charge == nil {
		return events
	}
	return f.charge(events)
}

func (f *fault) afterRefund(g *Ledger, k *limiter.Take, now limiter.Instant) {
	if f.refund != nil {
		f.refund(g, k, now)
	}
}

func (f *fault) beforeSend(n *simNode, l *limiter.LeaseRequest) {
	if f.send != nil {
		f.send(n, l)
	}
}

func (f *fault) beforeLend(n *simNode, g *Ledger, l *limiter.LeaseRequest) {
	if f.lend != nil {
		f.lend(n, g, l)
	}
}

func (f *fault) afterLend(n *simNode, g *Ledger, l *limiter.LeaseRequest) {
	if f.lent != nil {
		f.lent(n, g, l)
	}
}

func (f *fault) beforeAnswer(n *simNode, l *limiter.LeaseRequest, took limiter.Instant) {
	if f.answer != nil {
		f.answer(n, l, took)
	}
}

func (f *fault) result(n *simNode, requests []limiter.LeaseRequest) error {
	if f.fail == nil {
		return nil
	}
	return f.fail(n, &requests[0])
}

// playRandomFleet plays the random fleet of a seed to its end.
func playRandomFleet(t *testing.T, seed uint64, f fault) (s *simulation) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		s = newRandomFleet(seed, f)
		s.play()
	})
	return s
}
