package limiter

// A member is a node of the world.
type member struct {
	*world
	id       uint64
	offset   int64   // of its clock to the store's, in µs
	born     Instant // 0: long before the world began
	size     FleetSize
	dead     bool
	accounts map[int]*holder
}

// A holder is what surrounds the account of one key on a node: the takes that wait for the answer to its loan.
type holder struct {
	Account
	*member
	key    int
	loans  int                 // so many were sent
	flying []*waiting          // with the loan under way; the cost of the first is its need
	queue  []*waiting          // for the next one
	undo   Events              // served in vain, by the run that Dealings.run tells
	rest   []Events            // lent by that run, and to be returned
	spent  Spent               // by the last take from a lease
	lots   map[Instant]Instant // of leases by their name: until when they can be spent
	denied *Rule               // by which the store has denied a take, and has served none since; or nil
	woken  Instant             // when it will look after its leases next
}

// A waiting is a take that waits for the store.
type waiting struct {
	cost int64
	done bool
}

// clock returns the time by the clock of the node.
func (m *member) clock() Instant { return m.now + Instant(m.offset) }

// sharers returns how many nodes share the credit, 0 while the node gives none: such as when not all others count it yet.
func (m *member) sharers() int {
	switch {
	case m.plant.sharers != nil:
		return m.plant.sharers(m)
	case m.now-m.born < 2*heartbeat:
		return 0
	}
	return m.size.Sharers(m.rule, m.clock())
}

func (m *member) holder(key int) *holder {
	h := m.accounts[key]
	if h == nil {
		h = &holder{Account: newAccount(), member: m, key: key, lots: make(map[Instant]Instant)}
		m.accounts[key] = h
	}
	return h
}

// take has a take of cost events arrive for the key.
func (m *member) take(key int, cost int64) {
	h := m.holder(key)
	m.audit.asked(h, cost)
	if decided, background := h.decide(cost); decided {
		if background {
			h.send(true)
		}
		return
	}
	v := &waiting{cost: cost}
	h.queue = append(h.queue, v)
	m.after(patience, func() {
		if !v.done {
			v.done = true
			m.audit.gaveUp(h, cost)
		}
	})
	if !h.Asking() {
		h.send(true)
	}
}

// decide decides a take from the account, if that can, and reports whether the store is to be asked in the background.
func (h *holder) decide(cost int64) (decided, background bool) {
	var d Decision
	h.plant.beforeTake(h)
	before := h.remaining
	if !h.Take(h.rule, h.clock(), cost, h.sharers(), &d) {
		return false, false
	}
	h.audit.decided(h, before, cost, &d)
	h.spent = h.SpentSince(before)
	if d.Source == FromLease && h.happens(h.net.regret) { // another zone of the request denies it
		a, spent := h.audit.last(h), h.spent
		h.after(h.Int64N(2*patience), func() { h.takeBack(a, spent) })
	}
	return true, d.OK && !h.Asking() && (d.Source == FromCredit || h.NeedsRefill(h.rule, h.clock()))
}

// takeBack undoes what a take has spent of leases.
func (h *holder) takeBack(a *admission, spent Spent) {
	if h.dead {
		return
	}
	before := h.remaining
	h.plant.beforeUndo(h, &spent)
	returns, lost := h.ReturnToLease(spent)
	for _, e := range returns {
		if e.N > 0 {
			h.rest = append(h.rest, e)
		}
	}
	h.audit.regretted(h, a, before, lost)
	h.tend()
}
