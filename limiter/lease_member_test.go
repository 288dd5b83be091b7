package limiter

// A member is a node of the world.
type member struct {
	*world
	id       uint64
	offset   int64   // of its clock to the store's, in µs
	born     Instant // 0: before the world began
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
	undo   Events              // served in vain, by the run that Account.run tells
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

// sharers returns how many nodes share the credit, 0 while the node is too young for any.
func (m *member) sharers() int {
	if m.born != 0 && int64(m.now-m.born) < max(2*heartbeat, m.rule.window) {
		return 0
	}
	return max(m.fleet, len(m.nodes))
}

func (m *member) holder(key int) *holder {
	h := m.accounts[key]
	if h == nil {
		h = &holder{member: m, key: key, lots: make(map[Instant]Instant)}
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
	before := h.left
	if !h.Take(h.rule, h.clock(), cost, h.sharers(), &d) {
		return false, false
	}
	h.audit.decided(h, before, cost, &d)
	if d.Source == FromLease && h.happens(h.net.regret) { // another zone of the request denies it
		a, version := h.audit.last(h), h.Version()
		h.after(h.Int64N(2*patience), func() { h.takeBack(a, version) })
	}
	return true, d.OK && !h.Asking() && (d.Source == FromCredit || h.Low(h.rule, h.clock()))
}

// takeBack undoes what a take has spent of a lease.
func (h *holder) takeBack(a *admission, version Instant) {
	if h.dead {
		return
	}
	before := h.left
	h.Undo(a.n, version)
	h.audit.regretted(h, a, before)
	h.tend()
}

// send asks the store: for what waits, for what is wanted if more says so, and to tell what goes back.
func (h *holder) send(more bool) {
	var need, others int64
	for i, v := range h.queue {
		if i == 0 {
			need = v.cost
		} else {
			others += v.cost
		}
	}
	h.flying, h.queue = h.queue, nil
	asked, before := h.clock(), h.left
	l := new(Loan)
	h.Ask(h.rule, asked, need, others, l)
	if need == 0 && !more {
		l.Want = 0
	}
	l.Undo, h.undo = h.undo, Events{}
	h.plant.beforeSend(h, l)
	h.audit.sent(h, before, l)
	h.loans++
	number := h.loans
	h.after(callTime, func() {
		if !h.dead && h.Asking() && h.loans == number {
			h.fail()
		}
	})
	if h.happens(h.net.loseAsk) {
		h.audit.lostAsk(h, l)
		return
	}
	h.after(h.way(), func() { h.vault.serve(h, number, asked, l) })
}

// fail takes the outcome of the loan under way for unknown.
func (h *holder) fail() {
	h.tracef(h.key, "%v: no answer in time", h.member)
	h.Fail()
	h.flying = nil
	switch h.drop(); {
	case len(h.queue) > 0:
		h.send(true)
	case h.owed != h.paid:
		h.send(false)
	default:
		h.tend()
	}
}

// drop forgets the takes that do not wait any more.
func (h *holder) drop() {
	kept := h.queue[:0]
	for _, v := range h.queue {
		if !v.done {
			kept = append(kept, v)
		}
	}
	h.queue = kept
}

// receive deals with the answer to loan number n.
func (h *holder) receive(n int, asked Instant, l *Loan) {
	if h.dead || !h.Asking() || h.loans != n {
		h.audit.lostTell(h, l)
		return
	}
	if l.Lent > 0 {
		h.lots[l.Decision.At] = l.Ends
	}
	if l.Run != h.run { // what is named by another run goes nowhere
		h.undo = Events{}
	}
	h.Answer(l.Rule, asked, h.clock(), l, 0, false)
	h.plant.afterAnswer(h, l)
	h.hand(l)
	for _, v := range h.queue {
		if !v.done {
			v.done, _ = h.decide(v.cost) // from the lease that has come, or by the remembered denial
		}
	}
	switch h.drop(); {
	case len(h.queue) > 0:
		h.send(true)
	case h.undo.N > 0 || h.owed != h.paid:
		h.send(false)
	default:
		h.tend()
	}
}

// hand gives the takes that wait for the loan what was served, in their order.
func (h *holder) hand(l *Loan) {
	served := l.Served
	switch {
	case l.Need == 0:
	case l.Decision.OK:
		h.denied = nil
	default:
		h.denied = l.Rule
	}
	var left []*waiting
	for i, v := range h.flying {
		switch {
		case v.done:
		case v.cost <= served:
			served -= v.cost
			v.done = true
			h.audit.served(h, v.cost, l, h.Served(v.cost))
		case i == 0:
			v.done = true
			h.audit.refused(h, v.cost, l)
		default:
			left = append(left, v)
		}
	}
	h.flying, h.queue = nil, append(left, h.queue...)
	if served > 0 {
		h.undo = Events{l.Decision.At, served}
	}
}

// tend gives back what can be spent no more, and looks again when the rest can be spent no more.
func (h *holder) tend() {
	h.audit.expired(h, h.Expire(h.rule, h.clock()))
	back, ends := h.Due(h.rule, h.clock())
	if back {
		h.send(true)
		return
	}
	if at := ends - Instant(h.offset); ends > 0 && at != h.woken {
		h.woken = at
		h.after(int64(at-h.now), func() {
			if !h.dead && !h.Asking() {
				h.tend()
			}
		})
	}
}

// crash has the node begin anew, with nothing.
func (m *member) crash() {
	m.tracef(allKeys, "%v crashes", m)
	for key := range len(m.audit.keys) {
		if h := m.accounts[key]; h != nil {
			m.audit.crashed(h)
		}
	}
	m.dead = true
	for i, n := range m.nodes {
		if n == m {
			m.nodes[i] = m.newMember(m.now)
		}
	}
}
