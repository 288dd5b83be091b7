package leasetest

import (
	"maps"
	"slices"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A simStore is the store of a simulation: a ledger for each count, and what a replica knows of
// them.
type simStore struct {
	*simulation
	incarnation uint64
	ledgers     map[ledgerName]*Ledger
	replica     map[ledgerName]*Ledger
	unsynced    []int64 // by key, what was debited since the replica was up to date
	recalls     int     // messages that were sent to nodes
}

type ledgerName struct {
	rule uint32
	key  string
}

// answer answers requests of one key that have arrived from a node.
func (s *simStore) answer(n *simNode, requests []limiter.LeaseRequest) {
	var room [limiter.MaxLeaseRequests]*Ledger
	var done [len(room)]func(*limiter.LeaseRequest) int64
	ledgers := room[:len(requests)]
	for i := range requests {
		l := &requests[i]
		if ledgers[i] = s.ledger(l); checks(l.Rule) {
			done[i] = s.checker.arrives(n, ledgers[i], *l)
			s.fault.beforeLend(n, ledgers[i], l)
		}
	}
	Lend(s.incarnation, s.now(), ledgers, requests)
	for i := range requests {
		if l := &requests[i]; checks(l.Rule) {
			s.fault.afterLend(n, ledgers[i], l)
			s.unsynced[keyOf(l)] += done[i](l)
		}
		if l := &requests[i]; l.RecalledAt != 0 && l.RecalledAt == l.Decision.At {
			s.recall(l)
		}
	}
}

// recall tells all nodes to return their parts of the bucket of l. Messages are late and get lost as
// answers do.
func (s *simStore) recall(l *limiter.LeaseRequest) {
	s.tracef(keyOf(l), "the store recalls the parts")
	r := limiter.Recall{Key: slices.Clone(l.Key), Rule: l.Rule.ID, At: l.RecalledAt}
	for _, n := range s.nodes {
		if s.recalls++; !s.happens(s.net.loseAnswer) {
			s.afterUnlocked(s.way(), func() { n.store.Recall(r) })
		}
	}
}

func (s *simStore) ledger(l *limiter.LeaseRequest) *Ledger {
	name := ledgerName{l.Rule.ID, string(l.Key)}
	g := s.ledgers[name]
	if g == nil {
		g = NewLedger(l.Rule.Algorithm)
		g.count = &countedLending{g.count, new(lendingSums)}
		s.ledgers[name] = g
	}
	return g
}

// replicate brings the replica up to date.
func (s *simStore) replicate() {
	s.replica = make(map[ledgerName]*Ledger)
	for name, g := range s.ledgers {
		s.replica[name] = g.Clone()
	}
	clear(s.unsynced)
}

// failOver makes the replica the primary.
func (s *simStore) failOver() {
	s.incarnation++
	s.tracef(allKeys, "failover: the store has lost what was debited since: %d", slices.Clone(s.unsynced))
	for key, n := range s.unsynced {
		s.checker.failedOver(key, n)
	}
	s.ledgers = maps.Clone(s.replica)
	s.replicate()
}

// A countedLending adds up what is debited, and what is taken back.
type countedLending struct {
	lendingCount
	*lendingSums
}

// lendingSums are those of a count and of its copies.
type lendingSums struct{ debited, accepted int64 }

func (c *countedLending) clone() lendingCount {
	return &countedLending{c.lendingCount.clone(), c.lendingSums}
}

func (c *countedLending) consume(r *limiter.Rule, n int64) {
	c.lendingCount.consume(r, n)
	c.debited += n
}

func (c *countedLending) lend(l *limiter.LeaseRequest) {
	c.lendingCount.lend(l)
	c.debited += l.Granted
}

func (c *countedLending) takeBack(r *limiter.Rule, e limiter.Return, spends limiter.Spends) {
	before := c.held()
	c.lendingCount.takeBack(r, e, spends)
	c.accepted += before - c.held()
}

func (c *countedLending) cancel(r *limiter.Rule, e, seen limiter.Events) {
	before := c.held()
	c.lendingCount.cancel(r, e, seen)
	if _, bucket := c.lendingCount.(*lendingBucket); bucket {
		c.accepted += e.N // what does not fit has accrued meanwhile
	} else {
		c.accepted += before - c.held()
	}
}

func (c *countedLending) bucket() *lendingBucket { return bucketOf(c.lendingCount) }

func (c *countedLending) turn(r *limiter.Rule, cost int64) (limiter.Instant, bool) {
	if p, ok := c.lendingCount.(promising); ok {
		return p.turn(r, cost)
	}
	return 0, false
}

func (c *countedLending) accruesBy(r *limiter.Rule, at limiter.Instant) int64 {
	return c.lendingCount.(promising).accruesBy(r, at)
}

// held returns the events that can be taken back, each counted as one.
func (c *countedLending) held() (n int64) {
	switch c := c.lendingCount.(type) {
	case *lendingSliding:
		for _, k := range c.counts {
			n += k
		}
		return n
	}
	return c.consumed()
}

// keeps reports whether events of the instant at can still be taken back: leased until expires, or
// served when expires is 0.
func (c *countedLending) keeps(r *limiter.Rule, at, expires, now limiter.Instant) bool {
	switch r.Algorithm.Kind {
	case limiter.FixedWindow:
		return begin(now, int64(window(r))) <= at
	case limiter.SlidingWindow:
		return begin(now, r.SubWindow())-limiter.Instant(int64(r.Algorithm.SubWindows)*r.SubWindow()) <= at
	case limiter.SlidingWindowLog:
		if expires == 0 {
			return at > now-window(r)
		}
	}
	return expires == 0 || now < expires
}
