package limiter

// asked notes a take.
func (a *audit) asked(h *holder, cost int64) {
	k := &a.keys[h.key]
	k.takes++
	if a.light {
		return
	}
	d := a.exact[h.key].Take(a.rule, a.now, cost)
	if !d.OK {
		k.exactRefused++
	}
	k.exactUsed = max(k.exactUsed, d.Limit-d.Remaining)
}

func (a *audit) admit(h *holder, at Instant, n int64, credit bool) {
	k := &a.keys[h.key]
	if !a.light {
		k.admissions = append(k.admissions, &admission{at, n, credit})
	}
	if credit {
		k.credited += n
	} else {
		k.admitted += n
	}
}

// last returns what was admitted last.
func (a *audit) last(h *holder) *admission {
	k := &a.keys[h.key]
	return k.admissions[len(k.admissions)-1]
}

// eventsIn returns how many events are in two lots.
func eventsIn(lots [2]uint32) int64 { return int64(lots[0]) + int64(lots[1]) }

// decided notes what an account has decided that had so much of its leases left before.
func (a *audit) decided(h *holder, before [2]uint32, cost int64, d *Decision) {
	k := &a.keys[h.key]
	k.local++
	a.tracef(h.key, "%v takes %d: %v, %d remain", h.member, cost, h.verdict(d), d.Remaining)
	switch d.Source {
	case FromRememberedDenial:
		k.refused++
		k.deniedFor(int64(d.RetryAt - d.At))
		return
	case FromCredit:
		if h.denied == a.rule {
			a.failf(h.key, "%v: credit of %d after a denial", h.member, cost)
		}
	case FromLease:
		for i := range before {
			ends, known := h.lots[h.grantedAt[i]]
			if spent := before[i] - h.remaining[i]; spent > 0 && known && a.now >= ends {
				a.failf(h.key, "%v: %d spent of a lease that ended at %d", h.member, spent, ends)
			}
		}
	}
	if spent := eventsIn(before) - eventsIn(h.remaining); d.Source == FromLease && spent != cost {
		a.failf(h.key, "%v: a take of %d spent %d", h.member, cost, spent)
	}
	if d.Remaining < 0 || d.Remaining > d.Limit || d.ResetAt < d.At {
		a.failf(h.key, "%v: decision %+v", h.member, *d)
	}
	a.admit(h, a.now, cost, d.Source == FromCredit)
}

// served notes that the store has admitted a take that waited.
func (a *audit) served(h *holder, cost int64, l *LeaseRequest, remaining int64) {
	a.tracef(h.key, "%v takes %d: ok by store, %d remain", h.member, cost, remaining)
	a.admit(h, l.Decision.At, cost, false)
}

func (a *audit) refused(h *holder, cost int64, l *LeaseRequest) {
	a.tracef(h.key, "%v takes %d: denied by store until %v, %d remain",
		h.member, cost, told(l.Decision.RetryAt), l.Decision.Remaining)
	k := &a.keys[h.key]
	k.refused++
	k.deniedFor(int64(l.Decision.RetryAt - l.Decision.At))
	if l.Decision.RetryAt <= l.Decision.At {
		a.failf(h.key, "%v: denied, retry at %d, which is not after %d", h.member, l.Decision.RetryAt, l.Decision.At)
	}
}

// deniedFor notes how long a denied take is told to wait, as long as the exact algorithm has denied none.
func (k *keyAudit) deniedFor(us int64) {
	if k.exactRefused == 0 {
		k.longestFalseWait = max(k.longestFalseWait, us)
	}
}

func (a *audit) gaveUp(h *holder, cost int64) {
	a.tracef(h.key, "%v takes %d: waits no longer", h.member, cost)
	a.keys[h.key].abandoned++
}

// regretted notes that an admission was undone on its node.
func (a *audit) regretted(h *holder, e *admission, before [2]uint32, lost int64) {
	k := &a.keys[h.key]
	a.tracef(h.key, "%v undoes a take of %d and has %d of it again", h.member, e.n, eventsIn(h.remaining)-eventsIn(before))
	k.admitted -= e.n
	k.lost += lost
	e.n = 0
}

// sent notes a loan that a node asks for which had so much left before, and so much to return besides.
func (a *audit) sent(h *holder, before [2]uint32, returned int64, l *LeaseRequest) {
	k := &a.keys[h.key]
	k.loans++
	switch {
	case l.Need > 0:
		k.needs++
	case l.Want > 0:
		k.refills++
	}
	a.tracef(h.key, "%v asks%s", h.member, question(l))
	if back, gone := l.Returns[0].N+l.Returns[1].N, eventsIn(before)-eventsIn(h.remaining)+returned; back != gone {
		a.failf(h.key, "%v: gives back %d and has %d less", h.member, back, gone)
	}
}
