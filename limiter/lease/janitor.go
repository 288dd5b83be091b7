package lease

import (
	"time"

	"github.com/fleetlimit/fleetlimit/internal/keyed"
)

const (
	// sweepEvery is the number of ticks between two sweeps, each of one in sweepParts shards of
	// every zone. All are swept within about ten seconds.
	sweepEvery = 32
	sweepParts = 32

	// maxDuePerTick bounds what is attended to in a tick: 200,000 per second, so that a store that
	// fails at once does not cost a node with a million debts more than a quarter of a core.
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

// Attend attends to the accounts that are due. Only the caller of a store with Options.Attended calls
// it, one call after the other.
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

// attend has accounts return expired leases, renew them and tell of their debt, although no take
// comes, and send the refills that takes have left to the wheel. Accounts that back off do so when
// their pause is over.
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
		r := d.zone.rules.of(e.ID(), a)
		d.zone.dropPassed(a, r, now)
		d.zone.dropPassedDebt(a, r, now)
		news, renew, most := a.hasNews(r, now), a.shouldRenew(r, now), int64(maxBackground)
		if !news && !renew && pause.refill && a.needsRefill(r, now, s.roundTrip.Load()) {
			renew, most = true, maxRefills
		}
		if renew = renew && d.zone.leases(); news || renew {
			c, full := s.beginLocked(&l, a, r, now, most, renew)
			if c != nil {
				calls = append(calls, c)
			}
			again = again || full && news // the next take renews
		}
		requesting = requesting || a.requesting
		if a.watched = a.watched && a.hasPart() && !renew; a.watched {
			_, at := a.nextReturn(r, now)
			s.wheel.add(due{at, d.zone, d.hash})
		}
	})
	if again {
		s.wheel.add(d)
	} else if !requesting && sh.State.backoffs[d.hash].until <= now { // else it backs off again
		l.clearBackoffLocked()
	}
	sh.Unlock()
	for _, c := range calls {
		s.send(c)
	}
}

// sweep removes idle accounts from a part of all shards, and counts those at their limit.
func (s *Store) sweep(part int, now instant) {
	nodes := s.options.OutageNodes()
	for _, z := range s.openZones() {
		atLimit := int32(0)
		z.accounts.Sweep(part, sweepParts, func(sh *shard, e *entry) (idle bool) {
			a := accountOf(sh, e)
			r := z.rules.of(e.ID(), a)
			if a.denied && a.retryAt > now {
				atLimit++
			}
			z.dropPassed(a, r, now) // what was kept of a part is not looked after otherwise
			return a.idle(r, now, idleFor, nodes)
		})
		z.keysAtLimit[part].Store(atLimit)
	}
}
