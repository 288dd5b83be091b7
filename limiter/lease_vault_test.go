package limiter

// A vault is the store of a world: a ledger for each key, and what a replica knows of them.
type vault struct {
	*world
	run     uint64
	ledgers []*Ledger
	replica []*Ledger // as they were a little while ago
	since   []int64   // by key, what was debited since then
}

func (w *world) newVault(keys int) *vault {
	v := &vault{world: w, run: 1, since: make([]int64, keys)}
	for range keys {
		g := NewLedger(w.rule.Algorithm)
		g.count = &watched{g.count, w, new(totals)}
		v.ledgers = append(v.ledgers, g)
	}
	v.replica = v.copies()
	return v
}

// serve has a loan arrive, and sends the answer.
func (v *vault) serve(h *holder, number int, asked Instant, l *LeaseRequest) {
	g := v.ledgers[h.key]
	told := *l
	done := v.audit.arrives(h, g, &told)
	v.plant.beforeLend(h, g, l)
	loans := []LeaseRequest{*l}
	Lend(h.id, v.run, v.now, []*Ledger{g}, loans)
	v.plant.afterLend(h, g, &loans[0])
	l = &loans[0]
	v.since[h.key] += done(l)
	if v.happens(v.net.loseTell) {
		v.audit.lostTell(h, l)
		return
	}
	v.after(v.way(), func() { h.receive(number, asked, l) })
}

// replicate has the replica know all that has happened so far.
func (v *vault) replicate() {
	v.replica = v.copies()
	clear(v.since)
}

// failOver makes the replica the primary.
func (v *vault) failOver() {
	v.run++
	v.ledgers = v.replica
	v.tracef(allKeys, "failover: the store has lost what was debited since: %d", v.since)
	for key, n := range v.since {
		v.audit.failedOver(key, n)
	}
	v.replicate()
}

// copies returns copies of all ledgers.
func (v *vault) copies() (c []*Ledger) {
	for _, g := range v.ledgers {
		c = append(c, g.Clone())
	}
	return c
}

// A watched count tells how much is debited, and how much of what goes back is accepted.
type watched struct {
	lendingCount
	*world
	*totals
}

// totals are those of a count and of its copies.
type totals struct{ debited, accepted int64 }

func (c *watched) clone() lendingCount { return &watched{c.lendingCount.clone(), c.world, c.totals} }

func (c *watched) consume(r *Rule, n int64) {
	c.lendingCount.consume(r, n)
	c.debited += n
}

func (c *watched) lend(r *Rule, n int64) {
	c.lendingCount.lend(r, n)
	c.debited += n
}

func (c *watched) giveBack(r *Rule, e Events) {
	before := c.held()
	c.lendingCount.giveBack(r, e)
	c.accepted += before - c.held()
}

func (c *watched) undo(r *Rule, e, seen Events) {
	before := c.held()
	c.lendingCount.undo(r, e, seen)
	if _, bucket := c.lendingCount.(*lendingBucket); bucket {
		c.accepted += e.N // what does not fit in has accrued in between
	} else {
		c.accepted += before - c.held()
	}
}

// held returns the events that can go back, each counted as one.
func (c *watched) held() (n int64) {
	switch c := c.lendingCount.(type) {
	case *lendingBucket:
		return c.out()
	case *lendingLog:
		return c.consumed()
	case *lendingSliding:
		for _, k := range c.counts {
			n += k
		}
		return n
	}
	return c.consumed()
}

// keeps reports whether events of the instant at can still go back: leased until ends, or served when ends is 0.
func (c *watched) keeps(r *Rule, at, ends, now Instant) bool {
	switch r.Algorithm.Kind {
	case FixedWindow:
		return now-Instant(now.into(r.window)) <= at
	case SlidingWindow:
		return now-Instant(now.into(r.sub))-Instant(int64(r.Algorithm.SubWindows)*r.sub) <= at
	case SlidingWindowLog:
		if ends == 0 {
			return at > now-Instant(r.window)
		}
	}
	return ends == 0 || now < ends
}
