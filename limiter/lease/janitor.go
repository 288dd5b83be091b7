package lease

import (
	"sync"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/internal/keyed"
)

const (
	// sweepEvery is the number of ticks between two sweeps. A sweep visits one in sweepParts shards
	// of every zone, so all shards are swept within about ten seconds.
	sweepEvery = 32
	sweepParts = 32

	// maxDuePerTick bounds the accounts that a tick attends to: 200,000 per second. So a store that
	// fails at once costs a node with a million debts at most a quarter of a core.
	maxDuePerTick = 2048

	// idleFor is how long an account that holds nothing is kept after it was last used, in µs.
	idleFor = 30_000_000
)

// run attends to the accounts until the store is closed.
func (s *Store) run() {
	ticker := time.NewTicker(tick * time.Microsecond)
	defer ticker.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-ticker.C:
			s.Attend()
		}
	}
}

// Attend attends to the accounts that are due. Only the user of a store with Options.Attended calls
// it, and never concurrently.
func (s *Store) Attend() {
	now, n := s.now(), s.attended
	s.attended++
	s.due = s.wheel.take(now, min(maxDuePerTick, s.background.room()), s.due[:0])
	for _, d := range s.due {
		s.attend(d, now)
	}
	clear(s.due)
	if n%sweepEvery == 0 {
		s.sweep(n/sweepEvery%sweepParts, now)
	}
}

// attend has the accounts of d return expired leases, renew leases in use, and tell the lender
// their debt. It also sends the refills that takes have left to the wheel. Accounts that back off
// wait until their pause is over.
func (s *Store) attend(d due, now instant) {
	if now < d.at {
		s.wheel.add(d)
		return
	}
	var calls []*call
	requesting, again := false, false
	sh := d.zone.accounts.Shard(d.hash)
	sh.Lock()
	pause := sh.State.backoffs[d.hash]
	if now < pause.until {
		sh.Unlock()
		return
	}
	l := location{zone: d.zone, shard: sh, key: keyed.Key{Hash: d.hash}}
	sh.Entries.EachHash(d.hash, func(e *entry) {
		l.key.ID, l.key.Text = e.ID(), sh.Entries.Text(e)
		a := accountOf(sh, e)
		r := d.zone.rules.ruleFor(e.ID(), a)
		d.zone.dropPassed(a, r, now)
		d.zone.dropPassedDebt(a, r, now)
		news, renew, most := a.hasNews(r, now), a.shouldRenew(r, now), int64(maxBackground)
		if !news && !renew && pause.refill && a.needsRefill(r, now, s.roundTrip.Load()) {
			renew, most = true, maxRefills
		}
		if renew = renew && d.zone.leases(); news || renew {
			p := toTell
			if renew {
				p = toRefill
			}
			c, full := s.beginLocked(&l, a, r, now, most, p)
			if c != nil {
				calls = append(calls, c)
			}
			again = again || full && news // a renewal is left to the next take
		}
		requesting = requesting || a.requesting
		if a.watchedAt != 0 && !isLater(a.watchedAt, now) {
			if a.watchedAt = 0; a.hasPart() && !renew {
				s.watchLocked(&l, a, r, now)
			}
		}
	})
	if again {
		s.wheel.add(d)
	} else if !requesting && sh.State.backoffs[d.hash].until <= now { // else a new pause has begun
		l.clearBackoffLocked()
	}
	sh.Unlock()
	for _, c := range calls {
		s.send(c)
	}
}

// watchLocked has the wheel look after the part of the account a in time, unless it does so already.
func (s *Store) watchLocked(l *location, a account, r *limiter.Rule, now instant) {
	_, at := a.nextReturn(r, now)
	at = min(at, now.plus(watchFor))
	if a.watchedAt == 0 || isLater(a.watchedAt, at) {
		a.watchedAt = tickOf(at)
		s.wheel.add(due{at, l.zone, l.key.Hash})
	}
}

// tickOf returns the last 32 bits of the number of the tick in which at lies.
func tickOf(at instant) uint32 { return uint32(int64(at) / tick) }

// isLater reports whether a tick is later than that of at. The two are less than 200 days apart.
func isLater(t uint32, at instant) bool { return int32(t-tickOf(at)) > 0 }

// sweep removes idle accounts from a part of all shards, and counts those at their limit.
func (s *Store) sweep(part int, now instant) {
	nodes := s.options.OutageNodes()
	for _, z := range s.openZones() {
		atLimit := int32(0)
		z.accounts.Sweep(part, sweepParts, func(sh *shard, e *entry) (idle bool) {
			a := accountOf(sh, e)
			r := z.rules.ruleFor(e.ID(), a)
			if a.denied && a.retryAt > now {
				atLimit++
			}
			z.dropPassed(a, r, now) // the wheel looks after parts, but not after events kept of one
			return a.idle(r, now, idleFor, nodes)
		})
		z.keysAtLimit[part].Store(atLimit)
		if part == 0 {
			z.crowd.sweep(now, nodes)
		}
	}
}

const (
	// tick is the precision of the wheel, in µs. Expired leases should be returned within
	// limiter.Rule.LeaseMargin, which is shorter than a tick only for the shortest leases.
	tick = 10_000

	// wheelSize is how many ticks the wheel looks ahead. That is longer than a lease of a window
	// lasts. A part may last longer, and is looked after once in watchFor µs.
	wheelSize, watchFor = 1024, 10_000_000
)

// A wheel remembers when to attend to which accounts. It is a ring of ticks, each with the hashes
// of the keys that are due. So no account costs a timer, and an account without a lease costs
// nothing.
type wheel struct {
	mu   sync.Mutex
	next int64 // the tick that is taken next
	late bool  // some accounts of that tick were taken before
	due  [wheelSize][]due
}

// A due is when to attend to the accounts with a hash, because a lease expires or a pause is over.
type due struct {
	at   instant
	zone *Accounts
	hash uint64
}

// add has d taken in the first tick that begins after d.at, or in the last tick of the ring if that
// is earlier.
func (w *wheel) add(d due) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := min(max(int64(d.at)/tick+1, w.next), w.next+wheelSize-1)
	w.due[t%wheelSize] = append(w.due[t%wheelSize], d)
}

// take appends to all the accounts that are due at now, in the order of ticks, but at most most of
// them. It takes the rest when it is called again.
func (w *wheel) take(now instant, most int, all []due) []due {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := int64(now) / tick
	if first := last - wheelSize + 1; w.next < first {
		w.next, w.late = first, true
	}
	for ; w.next <= last; w.next++ {
		slot := &w.due[w.next%wheelSize]
		n := min(len(*slot), most)
		most -= n
		all = append(all, (*slot)[:n]...)
		clear((*slot)[:n]) // drops the pointers to zones
		if n < len(*slot) {
			*slot, w.late = (*slot)[n:], true
			break
		}
		if w.late || cap(*slot) > 4*len(*slot) { // the memory that a rush needed is freed
			*slot = nil
		}
		*slot, w.late = (*slot)[:0], false
	}
	return all
}

// A backoff is a pause in which an account sends no request in the background: after a failure, or
// until the next tick of the wheel, which sends many requests together. Invariant: the wheel
// attends to the account when the pause is over, or a request is under way whose reply clears the
// backoff or begins the next one.
type backoff struct {
	until    instant
	failures uint8 // how many background requests have failed in a row before; at most maxFailures
	refill   bool  // the pause is for a refill that waits for the wheel
}

const (
	// firstPause is the longest pause after one failure, in µs. The longest pause doubles with
	// every further failure.
	firstPause = 125_000

	// maxFailures is the number of failures after which pauses do not grow any more. They are then
	// up to 2 s long.
	maxFailures = 4
)

// pause returns how many µs a pause lasts. failures counts the failures before the newest one. part
// is random in [0, 1), so that not all accounts come back at the same time.
func pause(failures uint8, part float64) int64 {
	longest := int64(firstPause) << min(failures, maxFailures)
	return longest - int64(part*float64(longest/2))
}

// backOffLocked begins a pause of the account a after a failed request, if a has leases or debt.
// The pause is short at first if there is debt. If there are only leases it is long, so that a
// store that is down is not asked all the time.
func (s *Store) backOffLocked(l *location, a account, now instant) {
	b := l.shard.State.backoffs[l.key.Hash]
	switch {
	case a.settled(): // no lease: takes send requests, and do not wait for a pause
		l.clearBackoffLocked()
		return
	case now < b.until: // the pause goes on: the failed request was for a waiter
		return
	case a.debt > 0:
		b.until = now.plus(pause(b.failures, s.options.Random()))
	default:
		b.until = now.plus(pause(maxFailures, s.options.Random()))
	}
	b.failures, b.refill = min(b.failures+1, maxFailures), false
	s.setBackoffLocked(l, b)
}

// attendSoonLocked has the wheel come soon, because the account has news for the lender, and the
// background is too full for its call.
func (s *Store) attendSoonLocked(l *location, now instant) {
	if !l.backingOffLocked() {
		s.setBackoffLocked(l, backoff{until: now})
	}
}

func (s *Store) setBackoffLocked(l *location, b backoff) {
	st := &l.shard.State
	if st.backoffs == nil {
		st.backoffs = make(map[uint64]backoff)
	}
	st.backoffs[l.key.Hash] = b
	s.wheel.add(due{b.until, l.zone, l.key.Hash})
}

// backingOffLocked reports whether the accounts with the hash of l pause, or try again just now.
func (l *location) backingOffLocked() bool {
	_, found := l.shard.State.backoffs[l.key.Hash]
	return found
}

// clearBackoffLocked ends the pause of the accounts with the hash of l.
func (l *location) clearBackoffLocked() {
	st := &l.shard.State
	delete(st.backoffs, l.key.Hash)
	if len(st.backoffs) == 0 { // the memory that a rush needed is freed
		st.backoffs = nil
	}
}
