package limiter

// A RemoteCount is a count that another store keeps, such as Redis, as of the instant at which that
// store decided. It works out those parts of an answer that the store leaves to its nodes.
type RemoteCount struct{ count remoteCount }

type remoteCount interface {
	consumed() int64
	decide(d *Decision, r *Rule, ok bool, cost int64)
	lentUntil() Instant // when a lease granted now would expire

	// cancel gives back events that were served.
	cancel(r *Rule, served Events)

	// leases returns how many leased events may still be spent, or 0 if the count does not know. until
	// is when the last lease expires, or an instant that has passed if no lease is out.
	leases(r *Rule) (events int64, until Instant)
}

// Events are N events at the instant At.
type Events struct {
	At Instant
	N  int64
}

// LeaseSlots account for leased events that may still be spent, by slots of time: what is leased in
// a slot can be spent until the end of the next slot. The zero value has nothing leased.
type LeaseSlots struct {
	Ends     Instant // end of the current slot
	Length   int64   // length of a slot, in µs
	Current  int64   // events leased in the current slot, less those returned
	Previous int64   // events leased in the slot before, less those returned
}

func (s *LeaseSlots) out() int64 { return s.Current + s.Previous }

func (s *LeaseSlots) leases(_ *Rule) (events int64, until Instant) { return s.out(), s.leasedUntil() }

func (s *LeaseSlots) lentUntil() Instant { return s.Ends + Instant(s.Length) }

// leasedUntil returns when the last lease expires. It returns 0 if no lease is out.
func (s *LeaseSlots) leasedUntil() Instant {
	switch {
	case s.Current > 0:
		return s.lentUntil()
	case s.Previous > 0:
		return s.Ends
	}
	return 0
}

// RemoteTokenBucket returns the count of a bucket that lacks missing events at the instant at.
// fraction/microseconds of the next event have accrued: see [Rule.Rate]. parts are the open parts.
func RemoteTokenBucket(r *Rule, at Instant, missing, fraction int64, parts Parts) RemoteCount {
	// missing does not include the events that the store has set aside. As charged, the bucket sets no
	// more aside.
	bucket := tokenBucket{at: at, missing: missing, part: fraction, aside: aside(0).asCharged(r)}
	return RemoteCount{&remoteBucket{bucket, parts}}
}

// RemoteFixedWindow returns the count of a fixed window that ends at end, with used events in it.
// The last lease expires at leased.
func RemoteFixedWindow(r *Rule, at, end Instant, used int64, leased Instant) RemoteCount {
	return RemoteCount{&remoteFixed{fixedWindow{at: at, end: end, window: r.window, used: used}, leased}}
}

// RemoteSlidingWindow returns the count of a sliding window. counts are the events of each
// sub-window, the newest first. There is one more of them than the rule has sub-windows. The newest
// sub-window began at start. The last lease expires at leased.
func RemoteSlidingWindow(r *Rule, at, start Instant, counts []int64, leased Instant) RemoteCount {
	w := &remoteSliding{slidingWindow{at: at, start: start, sub: r.sub, counts: make([]int64, len(counts))}, leased}
	for age, n := range counts {
		w.counts[(len(counts)-age)%len(counts)] = n // the oldest comes after the current one in the ring
		if age < len(counts)-1 {
			w.full += n
		}
	}
	return RemoteCount{w}
}

// RemoteSlidingLog returns the count of a sliding window log. events are the events in the window,
// oldest first. Entries without events are left out.
func RemoteSlidingLog(at Instant, leases LeaseSlots, events ...Events) RemoteCount {
	l := &remoteLog{slidingLog{at: at}, leases}
	for _, e := range events {
		if e.N > 0 {
			l.entries = append(l.entries, logEntry{e.At, l.used() + e.N})
		}
	}
	return RemoteCount{l}
}

// Peek returns the answer to a take of cost events.
func (s RemoteCount) Peek(r *Rule, cost int64) (d Decision) {
	s.count.decide(&d, r, cost <= r.capacity-s.count.consumed(), cost)
	return d
}

// State returns the state of the count.
func (s RemoteCount) State(r *Rule) CountState {
	c := stateOf(s.Peek(r, 1), s.count.consumed())
	if leased, until := s.count.leases(r); until > c.At {
		c.Leased, c.LeasedUntil = leased, until
	}
	return c
}

// Cancel gives back events that were served.
func (s RemoteCount) Cancel(r *Rule, served Events) { s.count.cancel(r, served) }

// FillAnswer completes the reply in l. Its Served, Granted and GrantedShare are set already, and s
// includes them.
func (s RemoteCount) FillAnswer(l *LeaseRequest) {
	l.Expires, l.Held = 0, 0
	if b, ok := s.count.(*remoteBucket); ok {
		l.Held = b.holds(l.Rule)
	}
	if l.Granted > 0 || l.GrantedShare > 0 {
		l.Expires = s.count.lentUntil()
	}
	cost := max(1, l.Need)
	fits := cost <= l.Rule.capacity-s.count.consumed()
	s.count.decide(&l.Decision, l.Rule, fits || l.Need > 0 && l.Served > 0, cost)
	if l.Unserved = (Decision{}); l.Served > 0 && l.Need > 0 && l.Served < l.Need+l.More {
		s.count.decide(&l.Unserved, l.Rule, fits, cost)
	}
}

// A remoteFixed is a fixed window whose leases expire with it.
type remoteFixed struct {
	fixedWindow
	leased Instant // when the last lease expires
}

func (f *remoteFixed) consumed() int64 { return f.used }

func (f *remoteFixed) decide(d *Decision, r *Rule, ok bool, cost int64) {
	f.fixedWindow.decide(d, r, ok, cost)
	d.capRetry(f.leased)
}

func (f *remoteFixed) leases(_ *Rule) (events int64, until Instant) { return 0, f.leased }

func (f *remoteFixed) lentUntil() Instant { return min(f.end, f.at+maxLease) }

func (f *remoteFixed) cancel(r *Rule, e Events) { f.refund(r, f.at, e.At, e.N) }

// A remoteSliding is a sliding window whose leases expire with its sub-windows.
type remoteSliding struct {
	slidingWindow
	leased Instant // when the last lease expires
}

func (w *remoteSliding) consumed() int64 { return w.used() }

func (w *remoteSliding) decide(d *Decision, r *Rule, ok bool, cost int64) {
	w.slidingWindow.decide(d, r, ok, cost)
	d.capRetry(w.leased)
}

func (w *remoteSliding) leases(_ *Rule) (events int64, until Instant) { return 0, w.leased }

func (w *remoteSliding) lentUntil() Instant { return min(w.start+Instant(w.sub), w.at+maxLease) }

func (w *remoteSliding) cancel(r *Rule, e Events) { w.refund(r, w.at, e.At, e.N) }

// A remoteLog is a sliding window log with leased events, which enter the log when their lease
// expires.
type remoteLog struct {
	slidingLog
	LeaseSlots
}

func (l *remoteLog) consumed() int64 { return l.used() + l.out() }

func (l *remoteLog) decide(d *Decision, r *Rule, ok bool, cost int64) {
	entered, used := l.used(), l.consumed()
	if d.answer(r, l.at, used, ok, cost) {
		switch leave := used - (r.capacity - cost); {
		case leave <= entered:
			d.RetryAt = l.oldest(leave)
		case leave <= entered+l.Previous:
			d.RetryAt = l.Ends
		default:
			d.RetryAt = l.lentUntil()
		}
		d.RetryAt += Instant(r.window)
		d.capRetry(l.leasedUntil())
	}
	switch {
	case l.out() > 0:
		d.ResetAt = l.leasedUntil() + Instant(r.window)
	case entered > 0:
		d.ResetAt = l.last().at + Instant(r.window)
	}
}

func (l *remoteLog) cancel(r *Rule, e Events) { l.Refund(r, l.at, e, e.N) }
