package leasetest

import (
	"context"
	"slices"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A change is what happens to a count besides takes, mostly at an instant at which nothing else
// does.
type change struct {
	kind  changeKind
	at    limiter.Instant
	n     float64 // events
	over  float64 // of those charged, what the limit does not allow
	slots []int64 // of those given back, what was of each sub-window, newest first
}

type changeKind uint8

const (
	wasReset  changeKind = iota
	charged              // whatever the limit allows
	givenBack            // by adding quota
)

// consumedOf returns how many events are consumed of a count, to a fraction.
func consumedOf(r *limiter.Rule, c lendingCount) float64 {
	if b, ok := c.(*lendingBucket); ok {
		_, per := r.Rate()
		return float64(b.missing) - float64(b.fraction)/float64(per)
	}
	return float64(c.consumed())
}

// uncounted calls do while the ledger has its count itself.
func (g *Ledger) uncounted(do func()) {
	sums := g.count.(*countedLending).lendingSums
	g.count = g.count.(*countedLending).lendingCount
	do()
	g.count = &countedLending{g.count, sums}
}

// state returns the count of a ledger at the instant now.
func (g *Ledger) state(r *limiter.Rule, now limiter.Instant) lendingCount {
	c := g.count.clone()
	c.advance(r, now)
	if counted, ok := c.(*countedLending); ok {
		return counted.lendingCount
	}
	return c
}

// change has the store change the count of a key, at an instant at which nothing else happens.
func (n *simNode) change(r *limiter.Rule, text []byte, do func(key int, g *Ledger, now limiter.Instant) change) error {
	l := limiter.LeaseRequest{Rule: r, Key: text}
	return n.ask(n.momentAlone, func() {
		key := keyOf(&l)
		c := do(key, n.simulation.store.ledger(&l), n.now())
		c.at = n.now()
		k := &n.checker.outcomes[key]
		k.changes = append(k.changes, c)
	})
}

// Reset implements [limiter.Operator].
func (n *simNode) Reset(ctx context.Context, _ limiter.Instant, r *limiter.Rule, text []byte) error {
	return n.change(r, text, func(key int, g *Ledger, now limiter.Instant) change {
		others := n.restartOthers(key, now)
		g.uncounted(func() { g.Reset(r, now, others...) })
		n.fault.afterReset(g)
		n.simulation.store.unsynced[key] = 0 // a failover may lose the reset, which makes nothing worse
		n.tracef(key, "store resets the key")
		if at, ok := ctx.Value(resetAt{}).(*limiter.Instant); ok {
			*at = now
		}
		return change{kind: wasReset}
	})
}

// restartOthers notes that the counts of the other limits of a key take nothing back of what is
// before its reset, and returns them.
func (n *simNode) restartOthers(key int, now limiter.Instant) (others []*Ledger) {
	s := n.simulation.store
	for i := range n.checker.outcomes {
		if k := &n.checker.outcomes[i]; i%secondKeys == key%secondKeys && (i == key || n.second != nil) {
			if k.restarted = now; i != key {
				others = append(others, s.ledger(&limiter.LeaseRequest{Rule: n.ruleOf(i), Key: n.textOf(i)}))
			}
		}
	}
	return others
}

// resetAt is the key of a context, which takes the instant of a reset.
type resetAt struct{}

// AddQuota implements [limiter.Operator].
func (n *simNode) AddQuota(
	_ context.Context, _ limiter.Instant, r *limiter.Rule, text []byte, events int64,
) (limiter.CountState, error) {
	return limiter.CountState{}, n.change(r, text, func(key int, g *Ledger, now limiter.Instant) change {
		before := g.state(r, now)
		g.AddQuota(r, now, n.fault.quotaOf(events))
		after := g.state(r, now)
		c := change{kind: givenBack, n: consumedOf(r, before) - consumedOf(r, after)}
		if w, ok := before.(*lendingSliding); ok {
			c.slots = slices.Clone(w.counts)
			for i, n := range after.(*lendingSliding).counts {
				c.slots[i] -= n
			}
		}
		n.tracef(key, "store gives back %.2f of %d", c.n, events)
		if c.n > float64(events)+1e-6 {
			n.checker.failf(key, "gives back %.2f, want at most %d", c.n, events)
			c.n = float64(events)
		}
		return c
	})
}

// operate has an operator reset a key, or add quota to it, at one of the nodes. The others are told
// later, if at all.
func (n *simNode) operate(key int) {
	n.mu.Lock()
	if n.gone || n.ended {
		n.mu.Unlock()
		return
	}
	r, text := n.ruleOf(key), n.textOf(key)
	events := n.rng.Int64N(2) * (1 + n.rng.Int64N(r.Capacity()))
	n.mu.Unlock()
	var at limiter.Instant
	var err error
	if events > 0 {
		_, err = n.store.AddQuota(context.Background(), n.clock(), r, text, events)
	} else {
		err = n.store.Reset(context.WithValue(context.Background(), resetAt{}, &at), n.clock(), r, text)
	}
	reset := err == nil && events == 0
	n.mu.Lock()
	defer n.mu.Unlock()
	n.told(key, at, reset)
	for _, other := range n.nodes {
		if other != n && err == nil && n.rng.IntN(8) > 0 {
			other.driver.Add(1)
			other.afterUnlocked(n.rng.Int64N(200*ms), func() {
				defer other.driver.Done()
				other.tell(key, at, reset)
			})
		}
	}
}

// told notes that the node was told that a key was changed: reset at the instant at, or given
// events back. After a reset, its local bucket is full again.
func (n *simNode) told(key int, at limiter.Instant, reset bool) {
	h, k := n.key(key), &n.checker.outcomes[key]
	if h.toldAt = n.now(); reset {
		h.resetAt, h.resetTold = at, h.toldAt
		k.refilled = append(k.refilled, h.toldAt)
	}
}

// forgot reports whether the node had to forget by now what the store denied at the instant at.
func (h *heldKey) forgot(at, now limiter.Instant) bool { return at < h.toldAt && h.toldAt < now }

// mustNotSpend reports whether the node must not spend at now what the store debited at the instant
// debited: it was told that the key was reset since.
func (h *heldKey) mustNotSpend(debited, now limiter.Instant) bool {
	return debited != 0 && debited <= h.resetAt && h.resetTold < now
}

// debitedAt returns when the store debited what a take was admitted from; 0: that is not known.
func debitedAt(take *limiter.Take) limiter.Instant {
	if take.Decision.Source == limiter.FromStore || take.Origin == nil {
		return take.Decision.At
	}
	first := limiter.Never
	for _, e := range take.Origin.Leases {
		if e.N > 0 {
			first = min(first, e.At)
		}
	}
	return first
}

// tell tells the node of it.
func (n *simNode) tell(key int, at limiter.Instant, reset bool) {
	n.mu.Lock()
	gone, r := n.gone, n.ruleOf(key)
	n.mu.Unlock()
	switch {
	case gone:
		return
	case reset && !n.fault.keepsLeases:
		n.store.Drop(r, n.textOf(key))
	default:
		n.store.DropDenial(r, n.textOf(key))
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tracef(key, "%v is told of it", n)
	n.told(key, at, reset)
}
