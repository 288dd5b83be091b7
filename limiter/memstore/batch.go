package memstore

import (
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/table"
)

// batchSize is how many takes are decided together without an allocation.
const batchSize = 8

// A place is where the count of one take is kept.
type place struct {
	zone     *Zone // nil when it is not open
	shard    *shard
	key      table.Key
	countRef // what is known of the key; without an entry, there is none to remember anything

	added    bool // entry is new
	overflow bool // the key found no room; what stands above is of a count that it shares with other such keys
}

// decide decides takes as one, under the locks of all; when they are allowed and consume is set, they are consumed.
func (s *Store) decide(now limiter.Instant, takes []limiter.Take, consume bool) {
	var (
		placesBuf [batchSize]place
		shardsBuf [batchSize]*shard
	)
	places, shards := placesBuf[:], shardsBuf[:0]
	if len(takes) > batchSize {
		places = make([]place, len(takes))
	}
	places = places[:len(takes)]
	for i := range places {
		if p := &places[i]; s.locate(p, &takes[i]) {
			shards = append(shards, p.shard)
		}
	}
	defer s.reportOverflow(now, places) // after the locks are gone
	shards = lockAll(shards)
	defer unlockAll(shards)

	known := findAll(takes, places)
	if !consume {
		peekAll(now, takes, places)
		return
	}
	if !known {
		var overflowBuf [batchSize]*shard
		overflows := lockAll(makeRoom(now, takes, places, overflowBuf[:0]))
		defer unlockAll(overflows)
		overflowAll(takes, places)
		findAll(takes, places) // as the new ones may have moved the others
	}

	allowed := takeAll(now, takes, places)
	for i := range places {
		places[i].conclude(&takes[i], now, allowed)
	}
}

// locate writes where the count of k belongs, and reports whether its zone is open. It takes no lock.
func (s *Store) locate(p *place, k *limiter.Take) (open bool) {
	if p.zone = s.zoneOf(k.Rule); p.zone == nil {
		return false
	}
	s.identify(&p.key, k)
	p.shard = p.zone.shard(&p.key)
	return true
}

// find looks the key of k up and reports whether it has a count, or cannot have one. The shard is locked.
func (p *place) find(k *limiter.Take) (known bool) {
	if p.shard == nil {
		p.countRef = fresh(k.Rule)
		return true
	}
	p.countRef = p.shard.find(&p.key)
	return p.entry != nil
}

// findAll looks all keys up and reports whether each has a count, or cannot have one.
func findAll(takes []limiter.Take, places []place) (known bool) {
	known = true
	for i := range places {
		known = places[i].find(&takes[i]) && known
	}
	return known
}

// peekAll gives the takes their decisions and consumes nothing.
func peekAll(now limiter.Instant, takes []limiter.Take, places []place) {
	for i := range takes {
		k, p := &takes[i], &places[i]
		if p.entry == nil {
			p.countRef = fresh(k.Rule)
		}
		k.Decision = p.peek(k.Rule, now, k.Cost)
	}
}

// makeRoom finds room for the keys that have no entry yet. It appends the overflow shards of those for which there is none.
func makeRoom(now limiter.Instant, takes []limiter.Take, places []place, overflows []*shard) []*shard {
	for i := range places { // none of these may be pushed out
		if p := &places[i]; p.entry != nil {
			p.Value().idleSince = pinned
		}
	}
	for i := range places {
		k, p := &takes[i], &places[i]
		switch {
		case p.entry != nil || p.shard == nil:
		case p.zone.reserve(p.shard, k.Rule.MaxKeys, now):
			p.shard.insert(&p.key, k.Rule.Algorithm).Value().idleSince = pinned
			p.added = true
		default:
			p.moveToOverflow()
			overflows = append(overflows, p.shard)
		}
	}
	return overflows
}

// overflowAll adds the counts that keys without room share, where they are missing. The overflow
// shards are locked.
func overflowAll(takes []limiter.Take, places []place) {
	for i := range places {
		if p := &places[i]; p.overflow && !p.find(&takes[i]) {
			p.shard.insert(&p.key, takes[i].Rule.Algorithm)
		}
	}
}

// takeAll consumes all takes and reports whether they are allowed. When one is not, it undoes those before, and gives all
// of them the decisions that they have without the others.
func takeAll(now limiter.Instant, takes []limiter.Take, places []place) (allowed bool) {
	for i := range takes {
		k := &takes[i]
		places[i].consume(k, now)
		if !k.Decision.OK {
			undo(now, takes[:i], places)
			peekAll(now, takes[i+1:], places[i+1:])
			return false
		}
	}
	return true
}

// undo gives back what takes consumed at now: exactly, since nothing has happened to their counts meanwhile.
func undo(now limiter.Instant, takes []limiter.Take, places []place) {
	for i := range takes {
		places[i].giveBack(&takes[i], now)
	}
	peekAll(now, takes, places)
}

// conclude remembers the decision on k. A denied take adds no key, unless its own denial is to be remembered.
func (p *place) conclude(k *limiter.Take, now limiter.Instant, allowed bool) {
	if p.entry == nil {
		return
	}
	p.settle(k, now)
	if p.overflow {
		p.zone.overflowTakes.Add(1)
	}
	if p.added && !allowed && k.Decision.OK {
		p.shard.remove(p.entry)
		p.zone.release()
	}
}
