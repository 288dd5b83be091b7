package memstore

import "github.com/fleetlimit/fleetlimit/limiter"

// batchSize is how many takes are decided together without an allocation.
const batchSize = 8

// A place is where the count of one take is kept.
type place struct {
	table *table // nil when the zone is not open
	shard *shard
	hash  uint64
	ref   // what is known of the key; without an entry, there is none to remember anything

	added    bool // entry is new
	overflow bool // the key found no room; entry is that of all such keys under the rule
}

// decide decides takes as one, under the locks of all; when they are allowed and consume is set, they are consumed.
func (s *Store) decide(now limiter.Instant, takes []limiter.Take, consume bool) {
	var (
		placesBuf [batchSize]place
		shardsBuf [batchSize]*shard
	)
	places, shards := placesBuf[:0], shardsBuf[:0]
	for i := range takes {
		p := s.locate(&takes[i])
		places = append(places, p)
		if p.shard != nil {
			shards = append(shards, p.shard)
		}
	}
	shards = lockAll(shards)
	defer unlockAll(shards)

	for i := range places {
		places[i].find(&takes[i])
	}
	if !consume {
		peekAll(now, takes, places)
		return
	}
	for i := range places {
		places[i].hold()
	}
	var overflowBuf [batchSize]*shard
	overflows := lockAll(makeRoom(now, takes, places, overflowBuf[:0]))
	defer unlockAll(overflows)
	for i := range places {
		places[i].overflowIfFull(&takes[i])
	}

	allowed := takeAll(now, takes, places)
	for i := range places {
		places[i].conclude(&takes[i], now, allowed)
	}
}

// locate returns where the count of k belongs. It takes no lock.
func (s *Store) locate(k *limiter.Take) place {
	t := s.table(k.Rule.Zone)
	if t == nil {
		return place{}
	}
	hash := s.hash(k)
	return place{table: t, shard: t.shard(hash), hash: hash}
}

// find looks k up. The shard is locked.
func (p *place) find(k *limiter.Take) {
	if p.shard != nil {
		p.ref = p.shard.find(p.hash, k)
	}
}

// hold keeps the other takes from pushing the entry out until it is settled.
func (p *place) hold() {
	if p.entry != nil {
		p.entry.idleSince = held
	}
}

// peekAll gives the takes their decisions and consumes nothing.
func peekAll(now limiter.Instant, takes []limiter.Take, places []place) {
	for i := range takes {
		k, p := &takes[i], &places[i]
		if p.entry == nil {
			p.ref = fresh(k.Rule)
		}
		k.Decision = p.peek(k.Rule, now, k.Cost)
	}
}

// makeRoom adds entries for the keys that have none yet. It appends the overflow shards of those that find no room.
func makeRoom(now limiter.Instant, takes []limiter.Take, places []place, overflows []*shard) []*shard {
	for i := range places {
		k, p := &takes[i], &places[i]
		switch {
		case p.entry != nil:
		case p.shard == nil:
			p.ref = fresh(k.Rule)
		case p.table.reserve(p.shard, k.Rule.MaxKeys, now):
			p.ref = p.shard.insert(p.hash, k)
			p.added = true
			p.hold()
		default:
			p.overflow = true
			overflows = append(overflows, &p.table.overflow)
		}
	}
	return overflows
}

// overflowIfFull lets a key that found no room use the count of those. The overflow shard is locked.
func (p *place) overflowIfFull(k *limiter.Take) {
	if p.overflow {
		p.ref = p.table.overflowEntry(k)
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
		k := &takes[i]
		places[i].giveBack(k, now, k.Decision.At)
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
		p.table.overflowTakes.Add(1)
	}
	if p.added && !allowed && k.Decision.OK {
		p.shard.remove(p.entry)
		p.table.release()
	}
}

// overflowEntry returns the entry that the keys without room share under the rule of k. The overflow shard is locked.
func (t *table) overflowEntry(k *limiter.Take) ref {
	shared := limiter.Take{Rule: k.Rule}
	hash := uint64(k.Rule.ID)
	if f := t.overflow.find(hash, &shared); f.entry != nil {
		return f
	}
	return t.overflow.insert(hash, &shared)
}
