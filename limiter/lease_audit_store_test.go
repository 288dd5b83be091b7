package limiter

// arrives is called before the store decides a loan, and what it returns with the answer; that returns what was debited.
func (a *audit) arrives(h *holder, g *Ledger, l *LeaseRequest) func(answer *LeaseRequest) int64 {
	c, run, paid := g.count.(*watched), a.vault.run, g.paid[h.id]
	accepted, debited := c.accepted, c.debited
	return func(answer *LeaseRequest) int64 {
		k := &a.keys[h.key]
		back, n := l.Returns[0].N+l.Returns[1].N+l.Cancel.N, c.accepted-accepted
		settled := max(0, g.paid[h.id]-max(paid, l.SettledTotal))
		k.returned += n
		k.lost += back - n
		k.debited += answer.Served + answer.Granted
		k.settled += settled
		a.tracef(h.key, "store answers %v:%s", h.member, reply(answer, back, n, settled))
		want := answer.Served + answer.Granted + settled // less under a lowered limit, as a store does not let debts pile up
		if got := c.debited - debited; got != want && !a.changes {
			a.failf(h.key, "%v: debited %d, want %d", h.member, got, want)
		}
		if want := a.returnable(h, c, l, run); !a.changes && n != want {
			a.failf(h.key, "%v: the store took back %d, want %d, what came in time", h.member, n, want)
		}
		return answer.Served + answer.Granted + settled
	}
}

// returnable returns how much of what l gives back the store must take.
func (a *audit) returnable(h *holder, c *watched, l *LeaseRequest, run uint64) (n int64) {
	if l.Incarnation != run {
		return 0
	}
	for _, e := range l.Returns {
		if e.At != 0 && c.keeps(l.Rule, e.At, h.lots[e.At], a.now) {
			n += e.N
		}
	}
	if c.keeps(l.Rule, l.Cancel.At, 0, a.now) {
		n += l.Cancel.N
	}
	return n
}

// lostAsk notes that a loan has not reached the store.
func (a *audit) lostAsk(h *holder, l *LeaseRequest) {
	a.tracef(h.key, "%v: the request is lost", h.member)
	a.keys[h.key].lost += l.Returns[0].N + l.Returns[1].N + l.Cancel.N
}

// lostTell notes that the answer to a loan has not reached its node.
func (a *audit) lostTell(h *holder, l *LeaseRequest) {
	a.tracef(h.key, "%v: the answer is lost, with %d served and %d lent", h.member, l.Served, l.Granted)
	a.keys[h.key].lost += l.Served + l.Granted
}

// expired notes that events were leased in a window that has passed.
func (a *audit) expired(h *holder, n int64) {
	if n > 0 {
		a.tracef(h.key, "%v drops %d, as their window has passed", h.member, n)
	}
	a.keys[h.key].lost += n
}

// crashed notes what goes with a node.
func (a *audit) crashed(h *holder) {
	k := &a.keys[h.key]
	leased, owed := h.Outstanding()
	k.lost += leased + h.undo.N
	for _, e := range h.rest {
		k.lost += e.N
	}
	k.unsettled += owed // unless a loan under way says so
}

func (a *audit) failedOver(key int, lost int64) {
	a.keys[key].overturned = true
	a.keys[key].forgotten += lost
}
