package limiter

import "maps"

// A Ledger is what a store that lends keeps of one key under one rule: a pure calculator, and the specification of the scripts
// that do it in Redis. It is not safe for concurrent use.
//
// It changes only when something is written: a denial leaves it as it was.
type Ledger struct {
	count   lendingCount     // as of the newest write
	created Instant          // when something was written first; 0 when nothing was
	paid    map[uint64]int64 // by node: how much of what it ever owed has been debited

	// The call that is being answered.
	work  lendingCount // the count, as of the call
	wrote bool         // work is to replace count
}

// A lendingCount is consumption that is lent. Methods without an instant act at the one that settle was called with last.
type lendingCount interface {
	clone() lendingCount

	// newest returns the instant of the newest write, if settle was not called since.
	newest() Instant

	// advance moves the count to now. It reports whether that has to be written, as the consumption is of another time now.
	advance(r *Rule, now Instant) (moved bool)

	consumed() int64
	decide(d *Decision, r *Rule, ok bool, cost int64)

	// consume adds n events that are spent now, whether there is room for them or not.
	consume(r *Rule, n int64)

	// lend adds n events that may be spent later: until lentUntil.
	lend(r *Rule, n int64)
	lentUntil() Instant

	// leasedUntil returns when the last lease ends, if one may be out; else an instant that has passed.
	leasedUntil() Instant

	// giveBack takes back what was lent, undo what was consumed; the newest state that the node has seen may help.
	giveBack(r *Rule, lent Events)
	undo(r *Rule, consumed, seen Events)

	// restoreSeen makes sure that n events are consumed.
	restoreSeen(r *Rule, n int64)
}

// MaxConsumed is the most that is ever consumed of a limit: what a store has to have room for, in five bytes.
const MaxConsumed = 1<<40 - 1

// NewLedger returns a ledger without consumption for the algorithm a.
func NewLedger(a Algorithm) *Ledger {
	l := &Ledger{paid: make(map[uint64]int64)}
	switch a.Kind {
	case TokenBucket:
		l.count = new(lendingBucket)
	case SlidingWindowLog:
		l.count = new(lendingLog)
	case SlidingWindow:
		l.count = &lendingSliding{slidingWindow: slidingWindow{counts: make([]int64, max(1, a.SubWindows)+1)}}
	default:
		l.count = new(lendingFixed)
	}
	return l
}

// Clone returns a copy of g that shares nothing with it.
func (g *Ledger) Clone() *Ledger {
	return &Ledger{count: g.count.clone(), created: g.created, paid: maps.Clone(g.paid)}
}

// Lend answers loans of one key by its ledgers as one, for a node and at the instant now of the store's clock. run tells the
// run of the store; 0 when it is unknown.
func Lend(node, run uint64, now Instant, ledgers []*Ledger, loans []LeaseRequest) {
	allowed := true
	for i := range loans {
		allowed = ledgers[i].apply(node, run, now, &loans[i]) && allowed
	}
	for i := range loans {
		ledgers[i].answer(&loans[i], allowed)
		loans[i].Incarnation = run
	}
}

// apply deals with what the loan restores, gives back and owes, and reports whether there is what it needs.
func (g *Ledger) apply(node, run uint64, now Instant, l *LeaseRequest) bool {
	r, c := l.Rule, g.count.clone()
	g.work, g.wrote = c, l.ChangesCount()
	known := run != 0 && l.Incarnation != 0
	if known && l.Incarnation != run {
		g.restore(r, l.Seen)
	}
	if c.advance(r, now) {
		g.wrote = true
	}
	if g.created > now+LateReading { // the clock was set back
		g.created = now
	}
	if known && l.Incarnation == run { // what is of a count before this one does not go back
		for _, e := range l.Returns {
			if e.At >= g.created {
				c.giveBack(r, e)
			}
		}
		if l.Cancel.N > 0 && (l.Cancel.At >= g.created || r.Algorithm.Kind == SlidingWindowLog) { // a log finds them by their instant
			c.undo(r, l.Cancel, l.Seen)
		}
	}
	if owed := l.CreditTotal - max(l.SettledTotal, g.paid[node]); owed > 0 {
		if owed = min(owed, r.maxDebit()-c.consumed()); owed > 0 {
			c.consume(r, owed)
		}
		g.paid[node] = l.CreditTotal
	}
	return l.fits(r.capacity - c.consumed())
}

// restore consumes what a node has seen to be consumed in another run of the store, and what this run has lost. Writes are lost
// from the newest on: so nothing that was seen is missing when the newest write that is left is not older. Else nothing was
// written since, and what is missing is what was less consumed at that instant than was seen.
func (g *Ledger) restore(r *Rule, seen Events) {
	if seen.N <= 0 || g.work.newest() >= seen.At {
		return
	}
	g.work.advance(r, seen.At)
	g.work.restoreSeen(r, seen.N)
	g.wrote = true
}

// maxDebit returns up to what is consumed for events that are owed: a key that has been in an outage for long is not made to
// pay for longer than it takes to get back what the limit allows at once.
func (r *Rule) maxDebit() int64 { return min(2*r.capacity, MaxConsumed) }

// answer decides the loan, after all of the same call have been settled.
func (g *Ledger) answer(l *LeaseRequest, allowed bool) {
	r, c := l.Rule, g.work
	l.Served, l.Granted = 0, 0
	if allowed {
		l.Served, l.Granted = l.split(r.capacity - c.consumed())
		if l.Served > 0 {
			c.consume(r, l.Served)
		}
		if l.Granted > 0 {
			c.lend(r, l.Granted)
		}
	}
	if g.wrote && (g.created != 0 || c.consumed() > 0) || l.Served+l.Granted > 0 {
		g.count = c
		if g.created == 0 {
			g.created = c.newest()
		}
	}
	g.work = nil
	l.tell(c)
}

// tell writes the rest of the answer, when Served and Lent are written and consumed.
func (l *LeaseRequest) tell(c lendingCount) {
	left := l.Rule.capacity - c.consumed()
	l.Expires = 0
	if l.Granted > 0 {
		l.Expires = c.lentUntil()
	}
	if l.Need == 0 {
		c.decide(&l.Decision, l.Rule, left > 0, 1)
		return
	}
	c.decide(&l.Decision, l.Rule, l.Served > 0 || l.fits(left), l.Need)
}
