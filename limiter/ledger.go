package limiter

// A Ledger is what a store that lends keeps of one key under one rule: a pure calculator, and the specification of the scripts
// that do it in Redis. It is not safe for concurrent use.
type Ledger struct {
	count lendable
	paid  map[uint64]int64 // by node: how much of what it ever owed has been debited
}

// A lendable is consumption that is lent. All but settle act at the instant that settle was called with last.
type lendable interface {
	settle(r *Rule, now Instant)
	consumed() int64
	decide(d *Decision, r *Rule, ok bool, cost int64)

	// consume adds n events that are spent now, whether there is room for them or not.
	consume(r *Rule, n int64)

	// lend adds n events that may be spent later: until lentUntil.
	lend(r *Rule, n int64)
	lentUntil() Instant

	// giveBack takes back what was lent, undo what was consumed; the newest state that the node has seen may help.
	giveBack(r *Rule, lent Events)
	undo(r *Rule, consumed, seen Events)

	// raise makes sure that what was seen to be used is.
	raise(r *Rule, seen Events)
}

// MaxConsumed is the most that is ever consumed of a limit: what a store has to have room for, in five bytes.
const MaxConsumed = 1<<40 - 1

// NewLedger returns a ledger without consumption for the algorithm a.
func NewLedger(a Algorithm) *Ledger {
	l := &Ledger{paid: make(map[uint64]int64)}
	switch a.Kind {
	case TokenBucket:
		l.count = new(lentBucket)
	case SlidingWindowLog:
		l.count = new(lentLog)
	case SlidingWindow:
		l.count = &slidingWindow{counts: make([]int64, max(1, a.SubWindows)+1)}
	default:
		l.count = new(fixedWindow)
	}
	return l
}

// Lend answers loans of one key by its ledgers as one, for a node and at the instant now of the store's clock. run tells the
// run of the store.
func Lend(node, run uint64, now Instant, ledgers []*Ledger, loans []Loan) {
	allowed := true
	for i := range loans {
		allowed = ledgers[i].settle(node, run, now, &loans[i]) && allowed
	}
	for i := range loans {
		ledgers[i].answer(&loans[i], allowed)
		loans[i].Run = run
	}
}

// settle deals with what the loan gives back and owes, and reports whether there is what it needs.
func (g *Ledger) settle(node, run uint64, now Instant, l *Loan) bool {
	r, c := l.Rule, g.count
	c.settle(r, now)
	switch {
	case l.Run == run:
		for _, e := range l.Back {
			c.giveBack(r, e)
		}
		if l.Undo.N > 0 {
			c.undo(r, l.Undo, l.Seen)
		}
	case l.Seen.N > 0:
		c.raise(r, l.Seen)
	}
	if owed := l.Owed - max(l.Paid, g.paid[node]); owed > 0 {
		if owed = min(owed, r.maxDebit()-c.consumed()); owed > 0 {
			c.consume(r, owed)
		}
		g.paid[node] = l.Owed
	}
	return l.fits(r.capacity - c.consumed())
}

// maxDebit returns up to what is consumed for events that are owed: a key that has been in an outage for long is not made to
// pay for longer than it takes to get back what the limit allows at once.
func (r *Rule) maxDebit() int64 { return min(2*r.capacity, MaxConsumed) }

// answer decides the loan, after all of the same call have been settled.
func (g *Ledger) answer(l *Loan, allowed bool) {
	r, c := l.Rule, g.count
	l.Served, l.Lent = 0, 0
	if allowed {
		l.Served, l.Lent = l.divide(r.capacity - c.consumed())
		if l.Served > 0 {
			c.consume(r, l.Served)
		}
		if l.Lent > 0 {
			c.lend(r, l.Lent)
		}
	}
	l.tell(c)
}

// tell writes the rest of the answer, when Served and Lent are written and consumed.
func (l *Loan) tell(c lendable) {
	left := l.Rule.capacity - c.consumed()
	l.Ends = 0
	if l.Lent > 0 {
		l.Ends = c.lentUntil()
	}
	if l.Need == 0 {
		c.decide(&l.Decision, l.Rule, left > 0, 1)
		return
	}
	c.decide(&l.Decision, l.Rule, l.Served > 0 || l.fits(left), l.Need)
}
