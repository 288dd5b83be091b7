package leasetest

import (
	"fmt"
	"slices"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A checker notes what happens in a simulation and finds what must not happen. It keeps the first
// such thing. The mutex of the simulation guards it.
type checker struct {
	*simulation
	outcomes []outcome
	exact    []limiter.Count // what the algorithm decides on the same arrivals, undisturbed
	err      error
	wrongKey int
	wrongAt  limiter.Instant
	light    bool // it keeps no list of admissions, and compares with nothing
	calm     bool // nothing goes wrong: so nothing may be denied far from the limit, see undenied
	changes  int  // of the limit: then returns are not checked
	regrets  bool // another limit denies some requests

	overturned bool // by a failover: the sums are of a store that is no more
}

// An outcome is what happened to one key.
type outcome struct {
	limit      *checkedLimit
	admissions []admission
	denied     int64
	admitted   int64 // events

	forgotten int64 // events that failovers lost
	inOutage  int64 // admitted events that the store was not asked for
	late      []admission
	changes   []change        // oldest first
	restarted limiter.Instant // when it or another count of its key was last reset
	vain      vain
	lateVain  vain              // what was admitted late, and refunded later
	refilled  []limiter.Instant // when local buckets were full again, oldest first

	takes, local, failed     int64
	requests, needs, refills int64
	exactDenied, exactUsed   int64
	longestFalseWait         int64 // that a take was told to wait while the algorithm had denied none, in µs
}

// An admission is an admitted take, at the instant of the store's clock that it counts at.
type admission struct {
	at      limiter.Instant
	n       int64
	debited limiter.Instant // at the latest, by the store; 0: that is not known
}

func newChecker(s *simulation, keys int) *checker {
	c := &checker{simulation: s}
	for range keys {
		c.exact = append(c.exact, limiter.NewCount(s.rule.Algorithm))
	}
	c.addKeys(keys, &s.checkedLimit)
	return c
}

// addKeys adds keys of a limit.
func (c *checker) addKeys(keys int, limit *checkedLimit) {
	for range keys {
		c.outcomes = append(c.outcomes, outcome{limit: limit})
		c.store.unsynced = append(c.store.unsynced, 0)
	}
}

// failf says what is wrong with a key, and that it shows now. A fault that only the bounds are to
// find has it say nothing.
func (c *checker) failf(key int, format string, args ...any) {
	if !c.fault.boundsOnly {
		c.failAt(c.now(), key, format, args...)
	}
}

func (c *checker) failAt(at limiter.Instant, key int, format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("key %d: "+format, append([]any{key}, args...)...)
		c.wrongKey, c.wrongAt = key, at
	}
}

// arrived notes a take.
func (c *checker) arrived(key int, cost int64) {
	k := &c.outcomes[key]
	k.takes++
	if c.light {
		return
	}
	d := c.exact[key].Take(c.rule, c.now(), cost)
	if !d.OK {
		k.exactDenied++
	}
	k.exactUsed = max(k.exactUsed, d.Limit-d.Remaining)
}

func (c *checker) admit(key int, a admission) {
	k := &c.outcomes[key]
	k.admitted += a.n
	if !c.light {
		k.admissions = append(k.admissions, a)
	}
}

// arrives notes a request before the store decides it. The function it returns notes the answer,
// and returns how many events were debited.
func (c *checker) arrives(n *simNode, g *Ledger, l limiter.LeaseRequest) func(answer *limiter.LeaseRequest) int64 {
	count := g.count.(*countedLending)
	incarnation, before := c.store.incarnation, *count.lendingSums
	return func(answer *limiter.LeaseRequest) int64 {
		key := keyOf(&l)
		accepted, debited := count.accepted-before.accepted, count.debited-before.debited
		returned := l.Returns[0].N + l.Returns[1].N + l.Cancel.N
		c.tracef(key, "store answers %v:%v", n, asAnswer{*answer, returned, accepted})
		want := answer.Served + answer.Granted
		if debited != want && c.changes == 0 { // less under a lowered limit, as debts do not pile up
			c.failf(key, "%v: debited %d, want %d", n, debited, want)
		}
		if l.Rule.Algorithm.Kind == limiter.TokenBucket {
			c.outcomes[key].vain.add(l.Cancel, c.now())
			// What comes back of a part depends on the time: see TestPartsKeepTheBound. When a failover loses
			// a part, the bucket refills by its share, too.
			return want + l.Rule.PartAccrues(answer.GrantedShare, int64(answer.Expires-c.now()))
		}
		back := c.returnable(n, count, &l, incarnation)
		gaveBack := len(c.outcomes[key].changes) > 0 && accepted < back // before: so there was less to return
		if accepted != back && c.changes == 0 && !gaveBack {
			c.failf(key, "%v: the store took back %d, want %d, what came in time", n, accepted, back)
		}
		return want
	}
}

// returnable returns how many of the events that l returns the store must take back.
func (c *checker) returnable(n *simNode, count *countedLending, l *limiter.LeaseRequest, incarnation uint64) (events int64) {
	if l.Incarnation != incarnation {
		return 0
	}
	reset := c.outcomes[keyOf(l)].restarted
	for _, back := range l.Returns {
		e := back.Events
		if e.At > reset && count.keeps(l.Rule, e.At, n.key(keyOf(l)).expiry(e.At), c.now()) {
			events += e.N
		}
	}
	if l.Cancel.At > reset && count.keeps(l.Rule, l.Cancel.At, 0, c.now()) {
		events += l.Cancel.N
	}
	return events
}

func (c *checker) lostRequest(n *simNode, requests []limiter.LeaseRequest) {
	c.tracef(keyOf(&requests[0]), "%v: the request is lost", n)
}

func (c *checker) lostAnswer(n *simNode, answers []limiter.LeaseRequest) {
	for i := range answers {
		l := &answers[i]
		c.tracef(keyOf(l), "%v: the answer is lost, with %d served and %d granted", n, l.Served, l.Granted)
	}
}

func (c *checker) failedOver(key int, lost int64) {
	c.overturned = true
	c.outcomes[key].forgotten += lost
}

// close checks what must hold in the end, when all is quiet.
func (c *checker) close() {
	for key := range c.outcomes {
		k := &c.outcomes[key]
		c.checkBound(key, k)
		c.checkLate(key, k)
		if n := k.denied; c.calm && n > 0 && k.exactDenied == 0 && k.exactUsed <= c.undenied() {
			c.failf(key, "denied %d, though no more than %d of %d were ever used", n, k.exactUsed, c.rule.Capacity())
		}
	}
	for _, n := range c.retired {
		c.closeNode(n, false)
	}
	for _, n := range c.nodes {
		c.closeNode(n, true)
	}
}

// sum returns what happened to all keys together.
func (c *checker) sum() (s outcome) {
	for i := range c.outcomes {
		k := &c.outcomes[i]
		s.takes += k.takes
		s.local += k.local
		s.denied += k.denied
		s.admitted += k.admitted
		s.failed += k.failed
		s.requests += k.requests
		s.needs += k.needs
		s.refills += k.refills
		s.exactDenied += k.exactDenied
	}
	return s
}

// inOrder returns the admissions of a key, oldest first.
func (k *outcome) inOrder() []admission {
	slices.SortStableFunc(k.admissions, func(a, b admission) int { return int(a.at - b.at) })
	return k.admissions
}
