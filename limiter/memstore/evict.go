package memstore

import "github.com/fleetlimit/fleetlimit/limiter"

const (
	// sampleSize is how many keys that may go are compared to find the idlest. The one that goes is then among the
	// idlest sixth of the zone in 19 of 20 cases.
	sampleSize = 16

	// searchSize is how many keys are looked at, those that are at their limit included, before a search gives up.
	searchSize = 64
)

// A search looks for the entry that is missed least.
type search struct {
	now      limiter.Instant
	victim   *entry
	sampled  int // entries that may go
	examined int // all entries looked at
}

func (q *search) done() bool { return q.sampled >= sampleSize || q.examined >= searchSize }

// consider looks at e and reports whether it is missed less than the victim so far.
func (q *search) consider(e *entry) bool {
	q.examined++
	if !e.Value().evictable(q.now) {
		return false
	}
	q.sampled++
	if q.victim != nil && !q.missedLess(e.Value(), q.victim.Value()) {
		return false
	}
	q.victim = e
	return true
}

// missedLess orders entries by what is lost with them: nothing for those that are spent, else the idler the less.
func (q *search) missedLess(a, b *record) bool {
	now := coarseSecondOf(q.now)
	if spent := a.forgettable(now); spent != b.forgettable(now) {
		return spent
	}
	return a.idleSince < b.idleSince
}

// visit goes on with the search among the entries of s, from where the last one stopped, and reports whether it found a
// better victim there.
func (q *search) visit(s *shard) (found bool) {
	s.entries.Sample(func(e *entry) (more bool) {
		found = q.consider(e) || found
		return !q.done()
	})
	return found
}

// evict forgets the entry that is missed least among a sample and leaves its place to the caller, or reports that none
// may go. The sample is from own, which the caller has locked, and from the next shards when that is too small or all at
// their limits. Shards that are locked by others are passed over: waiting for them here could be a deadlock.
func (z *Zone) evict(own *shard, now limiter.Instant) bool {
	q := search{now: now}
	q.visit(own)
	holder := own // of the victim; locked
	for i := uint64(1); i < uint64(len(z.shards)) && !q.done(); i++ {
		s := &z.shards[(own.rank+i)%uint64(len(z.shards))]
		if !s.mu.TryLock() {
			continue
		}
		loser := s
		if q.visit(s) {
			holder, loser = s, holder
		}
		if loser != own {
			loser.mu.Unlock()
		}
	}
	if q.victim != nil {
		if !q.victim.Value().forgettable(coarseSecondOf(now)) {
			z.evictions.Add(1)
		}
		holder.remove(q.victim)
	}
	if holder != own {
		holder.mu.Unlock()
	}
	return q.victim != nil
}
