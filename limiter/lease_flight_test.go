package limiter

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
	asked, before := h.clock(), h.remaining
	l := &LeaseRequest{Nodes: h.alive()}
	if h.lonely {
		l.Nodes = 1
	}
	if need == 0 && more {
		h.Refill(h.rule, asked, l)
	} else {
		h.Ask(h.rule, asked, need, others, l)
	}
	l.Want *= max(1, h.greed)
	l.Cancel, h.undo = h.undo, Events{}
	var returned int64
	for len(h.rest) > 0 && l.Return(h.rest[0]) {
		returned += h.rest[0].N
		h.rest = h.rest[1:]
	}
	h.plant.beforeSend(h, l)
	h.audit.sent(h, before, returned, l)
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
	case h.inDebt || len(h.rest) > 0:
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
func (h *holder) receive(n int, asked Instant, l *LeaseRequest) {
	if h.dead || !h.Asking() || h.loans != n {
		h.audit.lostTell(h, l)
		return
	}
	if l.Granted > 0 {
		h.lots[l.Decision.At] = l.Expires
	}
	if l.Incarnation != uint64(h.Cold.incarnation) { // what is named by another run goes nowhere
		h.undo, h.rest = Events{}, nil
	}
	jitter := int64(0)
	if most := l.Jitter(); most > 0 && !h.alone {
		jitter = h.Int64N(most + 1)
	}
	h.Answer(l.Rule, asked, h.clock(), l, jitter, false)
	h.plant.afterAnswer(h, asked, l)
	h.hand(l)
	for _, v := range h.queue {
		if !v.done {
			v.done, _ = h.decide(v.cost) // from the lease that has come, or by the remembered denial
		}
	}
	switch h.drop(); {
	case len(h.queue) > 0:
		h.send(true)
	case h.undo.N > 0 || h.inDebt || len(h.rest) > 0:
		h.send(false)
	default:
		h.tend()
	}
}

// hand gives the takes that wait for the loan what was served, in their order.
func (h *holder) hand(l *LeaseRequest) {
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
	now := h.clock()
	h.audit.expired(h, h.Expire(h.rule, now))
	back, ends := h.Due(h.rule, now)
	if back || len(h.rest) > 0 && !h.Asking() {
		h.send(h.ShouldRenew(h.rule, now))
		return
	}
	if at := ends - Instant(h.offset); ends > 0 && at != h.woken {
		h.woken = at
		h.after(int64(at-h.now), func() {
			switch {
			case h.dead || h.Asking():
			case h.ShouldRenew(h.rule, h.clock()):
				h.audit.expired(h, h.Expire(h.rule, h.clock()))
				h.send(true)
			default:
				h.tend()
			}
		})
	}
}
