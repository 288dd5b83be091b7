package usage

import (
	"hash/maphash"
	"slices"
	"sync"
)

const (
	// fewCharges is from how many charges on those of a key count alone.
	fewCharges = 5

	// chargesOfKey and chargesOfAll are how many charges are remembered, the newest.
	chargesOfKey, chargesOfAll = 20, 100

	// foreseenPercentile is the percentile that is foreseen.
	foreseenPercentile = 95

	// mostChargedKeys bounds the keys that are remembered, about 200 bytes each. Those that were charged
	// longest ago make room.
	mostChargedKeys = 10_000
)

// A ChargeHistory remembers what the responses of one rule were charged, to foresee what the next one
// will be. What a key was charged says most about the key: the charges of others count only while the
// key has few, so that no key changes the reservations of all. The zero value has no charges.
type ChargeHistory struct {
	mu   sync.Mutex
	keys [2]map[uint64]*newestCharges // those charged lately, and those before: a key that is charged moves to the first
	all  newestCharges
}

// chargeSeed hides which keys have the same hash.
var chargeSeed = maphash.MakeSeed()

// Add adds what a response of key was charged.
func (h *ChargeHistory) Add(key []byte, events int64) {
	id := maphash.Bytes(chargeSeed, key)
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.keys[0][id]
	if c == nil {
		if c = h.keys[1][id]; c == nil {
			c = new(newestCharges)
		}
		if h.keys[0] == nil || len(h.keys[0]) >= mostChargedKeys/2 {
			h.keys[0], h.keys[1] = make(map[uint64]*newestCharges), h.keys[0]
		}
		delete(h.keys[1], id)
		h.keys[0][id] = c
	}
	c.add(events, chargesOfKey)
	h.all.add(events, chargesOfAll)
}

// Foreseen is by whose charges a charge is foreseen.
type Foreseen int

const (
	ForeseenByNone Foreseen = iota // there are none
	ForeseenByAll
	ForeseenByKey
)

// Foresee returns the 95th percentile of what the last responses of key were charged; of what all
// were, while those of the key are few.
func (h *ChargeHistory) Foresee(key []byte) (events int64, by Foreseen) {
	id := maphash.Bytes(chargeSeed, key)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, keys := range h.keys {
		if c := keys[id]; c != nil && len(c.newest) >= fewCharges {
			return c.foresee(), ForeseenByKey
		}
	}
	if len(h.all.newest) == 0 {
		return 0, ForeseenByNone
	}
	return h.all.foresee(), ForeseenByAll
}

// newestCharges are the newest, in a ring.
type newestCharges struct {
	newest []int64
	next   int // where the next one goes once the ring is full
}

func (c *newestCharges) add(events int64, most int) {
	if len(c.newest) < most {
		c.newest = append(c.newest, events)
	} else {
		c.newest[c.next] = events
		c.next = (c.next + 1) % most
	}
}

// foresee returns their percentile.
func (c *newestCharges) foresee() int64 {
	var room [chargesOfAll]int64
	sorted := append(room[:0], c.newest...)
	slices.Sort(sorted)
	return sorted[(len(sorted)*foreseenPercentile+99)/100-1]
}
