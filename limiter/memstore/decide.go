package memstore

import (
	"bytes"
	"math"
	"slices"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/internal/keyed"
	"github.com/fleetlimit/fleetlimit/limiter/internal/share"
)

// inlineTakes is how many takes are decided together without an allocation.
const inlineTakes = 8

// A location is where the count of one take is kept.
type location struct {
	zone     *Counts // nil if the zone is closed; then there is no entry
	shard    *shard
	key      keyed.Key
	countRef      // found under the lock
	added    bool // the entry is new

	overflow bool         // the key found no room; shard, key and count are those that it shares
	share    *share.Share // the share of the client in the overflow; nil if the client has no bound
}

// decide decides takes as one, under the locks of all. If they are allowed and consume is set, it
// consumes them.
func (s *Store) decide(now limiter.Instant, takes []limiter.Take, consume bool) {
	var (
		locationsBuf            [inlineTakes]location
		shardsBuf, overflowsBuf [inlineTakes]*shard
	)
	locations, shards := locationsBuf[:], shardsBuf[:0]
	if len(takes) > inlineTakes {
		locations = make([]location, len(takes))
	}
	locations = locations[:len(takes)]
	for i := range locations {
		k, l := &takes[i], &locations[i]
		if l.zone = s.zoneOf(k.Rule); l.zone != nil {
			l.shard = l.zone.locate(&l.key, k)
			shards = append(shards, l.shard)
		}
	}
	defer s.warnOverflow(now, locations) // after the locks are released
	shards = keyed.LockAll(shards)
	defer keyed.UnlockAll(shards)

	known := findAllLocked(takes, locations)
	if !consume {
		peekAllLocked(now, takes, locations)
		return
	}
	if !known {
		overflows := keyed.LockAll(addAllLocked(now, takes, locations, overflowsBuf[:0]))
		defer keyed.UnlockAll(overflows)
		addOverflowLocked(takes, locations)
		findAllLocked(takes, locations) // again, as the new entries may have moved the others
	}
	allowed := takeAllLocked(now, takes, locations)
	for i := range locations {
		locations[i].concludeLocked(&takes[i], now, allowed)
	}
}

// findAllLocked finds the counts of all takes. It reports whether no count has to be added: each
// take has a count, or its zone is closed.
func findAllLocked(takes []limiter.Take, locations []location) (known bool) {
	known = true
	for i := range locations {
		l := &locations[i]
		if l.zone == nil {
			l.countRef = fresh(takes[i].Rule)
			continue
		}
		l.countRef = findLocked(l.shard, &l.key)
		known = known && l.entry != nil
	}
	return known
}

// peekAllLocked gives the takes their decisions and consumes nothing.
func peekAllLocked(now limiter.Instant, takes []limiter.Take, locations []location) {
	for i := range takes {
		k, l := &takes[i], &locations[i]
		if l.entry == nil {
			l.countRef = fresh(k.Rule)
		}
		k.Decision = l.peekTake(k, now)
	}
}

// addAllLocked adds the counts that are missing. It moves the takes without room to the overflow,
// and appends the shards of their overflow counts to overflows.
func addAllLocked(now limiter.Instant, takes []limiter.Take, locations []location, overflows []*shard) []*shard {
	for i := range locations { // the entries of known keys may not be evicted
		if l := &locations[i]; l.entry != nil {
			l.Value().idleSince = pinned
		}
	}
	for i := range locations {
		k, l := &takes[i], &locations[i]
		if l.entry != nil || l.zone == nil {
			continue
		}
		if e := l.zone.addLocked(l.shard, &l.key, k.Rule, now); e != nil {
			e.Value().idleSince = pinned
			l.added = true
			continue
		}
		l.moveToOverflow()
		overflows = append(overflows, l.shard)
	}
	return overflows
}

// addOverflowLocked adds the overflow counts that are missing, and finds the shares of the clients.
func addOverflowLocked(takes []limiter.Take, locations []location) {
	for i := range locations {
		l := &locations[i]
		if !l.overflow {
			continue
		}
		l.share = l.zone.shares.Of(&takes[i])
		if findLocked(l.shard, &l.key).entry == nil {
			spillLocked(l.shard, l.zone.overflow.AddLocked(l.shard, &l.key, math.MaxInt, nil, nil), takes[i].Rule.Algorithm)
		}
	}
}

// takeAllLocked consumes all takes and reports whether they are allowed. If a take is denied,
// nothing is consumed, and each take has the decision that it would have without the other takes.
func takeAllLocked(now limiter.Instant, takes []limiter.Take, locations []location) (allowed bool) {
	if len(takes) > 1 {
		peekAllLocked(now, takes, locations)
		if slices.ContainsFunc(takes, denied) {
			for i := range takes {
				locations[i].writeDeniedLocked(takes, i, now)
			}
			return false
		}
	}
	for i := range takes {
		if locations[i].take(&takes[i], now); takes[i].Decision.OK {
			continue
		}
		for j := range takes[:i] { // one of these takes uses the same overflow count
			locations[j].refund(&takes[j], now)
		}
		peekAllLocked(now, takes[:i], locations)
		return false
	}
	return true
}

func denied(k limiter.Take) bool { return !k.Decision.OK }

// writeDeniedLocked writes the count of takes[i] after takes were denied as one. It does what a
// store with keys on several servers does: consume what the key allows, and refund it. So a count
// is the same in both stores, even after a change of its limit.
func (l *location) writeDeniedLocked(takes []limiter.Take, i int, now limiter.Instant) {
	k := takes[i]
	if slices.ContainsFunc(takes, func(o limiter.Take) bool { return denied(o) && bytes.Equal(o.Key, k.Key) }) {
		l.follow(k.Rule, now)
		return
	}
	l.take(&k, now)
	l.refund(&k, now)
}

// concludeLocked records the decision on k. If the takes were denied, a new key stays only if k
// itself was denied, because that denial must be remembered.
func (l *location) concludeLocked(k *limiter.Take, now limiter.Instant, allowed bool) {
	if l.entry == nil {
		return
	}
	l.record(k, now)
	if l.overflow {
		l.zone.overflowTakes.Add(1)
	}
	if l.added && !allowed && k.Decision.OK {
		dropSpilledLocked(l.shard, l.entry)
		l.zone.counts.RemoveLocked(l.shard, l.entry)
	}
}
