package lease

import (
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/table"
)

const (
	// sweepEvery is the number of ticks between two sweeps, each of one shard in sweepParts of every zone: all are swept within
	// ten seconds or so.
	sweepEvery = 32
	sweepParts = 32

	// lookMost is how many dues are looked after in a tick at most: 200,000 a second, so that a store that fails at once does not
	// cost a node with a million debts more than a quarter of a core.
	maxDuePerTick = 2048

	// sweepSlice is how many accounts are looked at before the lock is let go.
	sweepSlice = 512

	// idleFor is how long an account that holds nothing is kept after it was last used, in µs.
	idleFor = 30_000_000
)

// run looks after the accounts until the store is closed.
func (s *Store) run() {
	ticker := time.NewTicker(tick * time.Microsecond)
	defer ticker.Stop()
	var all []due
	for n := 0; ; n++ {
		select {
		case <-s.stop:
			return
		case <-ticker.C:
		}
		now := s.options.Clock()
		s.countNodes(now)
		all = s.wheel.take(now, min(maxDuePerTick, s.background.room()), all[:0])
		for _, d := range all {
			s.attend(d, now)
		}
		clear(all)
		if n%sweepEvery == 0 {
			s.sweep(n/sweepEvery%sweepParts, now)
		}
	}
}

// attend has accounts tell the lender what they have to, and ask it for what comes next, though nobody takes. Those that rest
// do so when that is over.
func (s *Store) attend(d due, now limiter.Instant) {
	if now < d.at {
		s.wheel.add(d)
		return
	}
	var backs []*leaseRequest
	asking, again := false, false
	sh := d.book.shard(d.hash)
	sh.mu.Lock()
	if now < sh.backoffs[d.hash].until {
		sh.mu.Unlock()
		return
	}
	sh.accounts.EachHash(d.hash, func(e *entry) {
		p := location{d.book, sh, table.Key{Hash: d.hash, ID: e.ID(), Text: sh.accounts.Text(e, 0)}}
		a := sh.account(e)
		r := d.book.rules.under(e.ID(), a)
		d.book.expire(a, r, now)
		f, late := s.maintain(&p, a, r, now)
		if f != nil {
			backs = append(backs, f)
		}
		asking, again = asking || a.Asking(), again || late
	})
	if again {
		s.wheel.add(d)
	} else if !asking {
		sh.clearBackoff(d.hash)
	}
	sh.mu.Unlock()
	for _, f := range backs {
		s.send(f)
	}
}

// sweep forgets the accounts in a part of all shards that are idle.
func (s *Store) sweep(part int, now limiter.Instant) {
	for _, b := range s.openZones() {
		for i := part; i < len(b.shards); i += sweepParts {
			b.sweep(&b.shards[i], now)
		}
	}
}

func (b *Zone) sweep(sh *shard, now limiter.Instant) {
	var c table.Cursor
	for more := true; more; {
		sh.mu.Lock()
		more = sh.accounts.Walk(&c, sweepSlice, func(e *entry) {
			if a := sh.account(e); a.Idle(b.rules.under(e.ID(), a), now, idleFor) {
				sh.accounts.Remove(e)
				b.release()
			}
		})
		if !more {
			sh.accounts.Shrink()
		}
		sh.mu.Unlock()
	}
}
