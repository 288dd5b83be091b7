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
	name       string
	boundsOnly bool               // it must be found by the bounds alone
	algorithm  *limiter.Algorithm // where the fault is; nil for all
	overshoot  float64            // that it needs; 0: any
	exact      bool               // without overshoot
	limit      limiter.Limit      // that it needs; without events: any
	prepare    func(*simulation)  // makes it likely
	from       uint64             // the first seed: what is rare need not be looked for each time

	options func(*simNode, *lease.Options)
	decide  func(n *simNode, h *heldKey, take *limiter.Take) bool // in place of the node's store
	send    func(*simNode, *limiter.LeaseRequest)
	lend    func(*simNode, *Ledger, *limiter.LeaseRequest) // before the store decides
	lent    func(*simNode, *Ledger, *limiter.LeaseRequest)
	answer  func(n *simNode, l *limiter.LeaseRequest, took limiter.Instant)
	fail    func(n *simNode, l *limiter.LeaseRequest) error // what the node is told of a call that has succeeded
}

var faults = []fault{
	{
		name:       "return credited twice",
		boundsOnly: true,
		exact:      true,
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
				l.Expires += took + limiter.Instant(leaseTime(l.Rule))
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
		name:      "return under the name of another lease",
		algorithm: &bucket,
		overshoot: 0.2,
		limit:     limiter.Limit{Events: 400, Window: 10 * time.Second},
		prepare:   func(s *simulation) { s.net.late, s.greed = 0.3, 20 },
		lend: func(n *simNode, _ *Ledger, l *limiter.LeaseRequest) {
			if leases := n.key(keyOf(l)).leases; l.Returns[0].N > 0 {
				l.Returns[0].At = leases[len(leases)-1].at
			}
		},
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
				g.count.lend(l.Rule, l.Want-l.Granted)
				l.Granted = l.Want
			}
		},
	},
	{
		name:       "bucket that refills while its leases are out",
		boundsOnly: true,
		algorithm:  &bucket,
		overshoot:  0.2,
		limit:      limiter.Limit{Events: 400, Window: 10 * time.Second},
		prepare:    func(s *simulation) { s.net, s.attack, s.greed, s.alone = network{delay: 200}, true, 20, true },
		lend: func(n *simNode, g *Ledger, l *limiter.LeaseRequest) {
			b := g.count.(*countedLending).lendingCount.(*lendingBucket)
			slots := b.leaseSlots
			b.leaseSlots = leaseSlots{}
			b.refill(l.Rule, max(b.at, n.now()))
			for b.leaseSlots = slots; b.out() > 0 && b.at >= b.ends; {
				b.rotate()
			}
		},
	},
	{
		name: "script run twice",
		lend: func(n *simNode, g *Ledger, l *limiter.LeaseRequest) {
			lendOne(g, n.id, n.simulation.store.incarnation, n.now(), *l)
		},
	},
	{
		name:      "debt debited twice",
		overshoot: 1,
		lend: func(n *simNode, g *Ledger, l *limiter.LeaseRequest) {
			g.settled[n.id], l.SettledTotal = 0, min(l.SettledTotal, l.CreditTotal-1)
		},
	},
	{
		name:      "debt told under another window",
		overshoot: 1,
		prepare:   loseMany,
		send: func(n *simNode, l *limiter.LeaseRequest) {
			if debt := l.CreditTotal - l.SettledTotal; debt > 0 {
				l.CreditTotal += int64(n.now()-epoch) / ms << 12 // a window that begins when it is told
				l.SettledTotal = l.CreditTotal - debt
			}
		},
	},
	{
		name:      "credit after a denial",
		overshoot: 1,
		decide: func(n *simNode, h *heldKey, take *limiter.Take) bool {
			return h.denied && n.decides(take, limiter.FromCredit)
		},
	},
	{
		name:       "credit after a restart",
		from:       55,
		boundsOnly: true,
		overshoot:  1,
		prepare: func(s *simulation) {
			for i := range limiter.Instant(20) {
				s.after(int64(i*window(s.rule)/20), func() { s.nodes[s.rng.IntN(len(s.nodes))].restart() })
			}
		},
		options: func(n *simNode, o *lease.Options) {
			n.behind.Store(int64(3 * window(n.simulation.rule)))
			o.Settled = func() bool { return true }
		},
	},
	{
		name:      "credit of a node that is not yet counted",
		overshoot: 1,
		limit:     limiter.Limit{Events: 100, Window: time.Second},
		prepare: func(s *simulation) {
			for range 3 {
				s.after(s.rng.Int64N(int64(window(s.rule))), s.join)
			}
		},
		options: func(_ *simNode, o *lease.Options) { o.Settled = func() bool { return true } },
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

// leaseTime returns how long a lease lasts as a rule, in µs.
func leaseTime(r *limiter.Rule) int64 {
	if slot := r.LeaseSlot(); slot > 0 {
		return slot + slot/2 - min(slot/4, 100*ms)
	}
	longest := min(maxLease, r.Limit.Window.Microseconds()/8)
	if r.Algorithm.Kind == limiter.SlidingWindow {
		return min(longest, r.SubWindow())
	}
	return longest
}
