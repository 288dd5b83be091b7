package memstore

import "github.com/fleetlimit/fleetlimit/limiter"

// batchSize is how many takes are decided together without an allocation.
const batchSize = 8

// A place is where the count of one take is kept.
type place struct {
	table *table // nil when the zone is not open
	shard *shard
	hash  uint64
	entry *entry

	reserved bool // entry is new, and table has room for it
	overflow bool // the key has no entry and found no room
}

// decide decides takes as one; when they are allowed and consume is set, they are consumed.
//
// It looks at all of them before it consumes any, under the locks of all: a denial then has nothing to undo.
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

	allowed := peekAll(now, takes, places)
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
		p.entry = p.shard.find(p.hash, k)
	}
}

// hold keeps the other takes from pushing the entry out until it is settled.
func (p *place) hold() {
	if p.entry != nil {
		p.entry.idleSince = held
	}
}

// makeRoom finds room for the keys that have no entry yet. It appends the overflow shards of those that find none.
func makeRoom(now limiter.Instant, takes []limiter.Take, places []place, overflows []*shard) []*shard {
	for i := range places {
		p := &places[i]
		if p.shard == nil || p.entry != nil {
			continue
		}
		if p.reserved = p.table.reserve(p.shard, takes[i].Rule.MaxKeys, now); !p.reserved {
			p.overflow = true
			overflows = append(overflows, &p.table.overflow)
		}
	}
	return overflows
}

// peekAll gives the takes their decisions, and those that have no entry yet a fresh one. It reports whether all are
// allowed.
func peekAll(now limiter.Instant, takes []limiter.Take, places []place) bool {
	allowed := true
	for i := range places {
		k, p := &takes[i], &places[i]
		if p.overflow {
			p.entry = p.table.overflowEntry(k)
		}
		if p.entry == nil {
			p.entry = newEntry(p.hash, k)
		}
		p.entry.peek(k, now)
		allowed = allowed && k.Decision.OK
	}
	return allowed
}

// conclude consumes k when all takes are allowed, and remembers its entry or gives back the room for it: a denied take
// adds no key, unless its own denial is to be remembered.
func (p *place) conclude(k *limiter.Take, now limiter.Instant, allowed bool) {
	if allowed {
		p.entry.take(k, now)
	} else {
		p.entry.settle(k, now)
	}
	switch {
	case p.overflow:
		p.table.overflowTakes.Add(1)
	case p.reserved && (allowed || !k.Decision.OK):
		p.shard.insert(p.entry)
	case p.reserved:
		p.table.release()
	}
}

// overflowEntry returns the entry that the keys without room share under the rule of k. The overflow shard is locked.
//
// Two keys without room under one rule in one batch share it too. Each is then allowed when it alone could be, so the
// second may get a denial after all with the others consumed: requests ask for one key per zone, so none does.
func (t *table) overflowEntry(k *limiter.Take) *entry {
	shared := limiter.Take{Rule: k.Rule}
	hash := uint64(k.Rule.ID)
	e := t.overflow.find(hash, &shared)
	if e == nil {
		e = newEntry(hash, &shared)
		t.overflow.insert(e)
	}
	return e
}
