package usage

import (
	"hash/maphash"
	"slices"
	"sync"
)

const (
	// fewCharges is the number of charges from which on the charges of a key alone foresee its next
	// charge.
	fewCharges = 5

	// A history has the newest chargesOfKey charges of a key, and the newest chargesOfAll of all keys.
	chargesOfKey, chargesOfAll = 20, 100

	// foreseenPercentile is the percentile of past charges that Foresee returns.
	foreseenPercentile = 95

	// mostChargedKeys is the highest number of keys in a history. A key takes about 200 bytes. The
	// keys that were charged longest ago make room.
	mostChargedKeys = 10_000
)

// A ChargeHistory remembers what the responses of one rule were charged, to foresee the next
// charge. The charges of the key itself foresee it best. The charges of other keys count only while
// the key has few, so no key changes the reservations of all others. The zero value has no charges.
type ChargeHistory struct {
	mu   sync.Mutex
	keys [2]map[uint64]*newestCharges // keys charged lately, and those before; a charge moves its key to keys[0]
	all  newestCharges
}

// chargeSeed is random, so that nobody can foresee which keys have equal hashes.
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

// Foreseen says whose charges foresee a charge.
type Foreseen int

const (
	ForeseenByNone Foreseen = iota // nothing was charged yet
	ForeseenByAll
	ForeseenByKey
)

// Foresee returns the 95th percentile of what the last responses of key were charged. If the key
// has fewer than fewCharges charges, Foresee returns the percentile of the charges of all keys.
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

// newestCharges has the newest charges in a ring.
type newestCharges struct {
	newest []int64
	next   int // index of the oldest charge once the ring is full
}

func (c *newestCharges) add(events int64, most int) {
	if len(c.newest) < most {
		c.newest = append(c.newest, events)
	} else {
		c.newest[c.next] = events
		c.next = (c.next + 1) % most
	}
}

// foresee returns the percentile of the charges in c.
func (c *newestCharges) foresee() int64 {
	var room [chargesOfAll]int64
	sorted := append(room[:0], c.newest...)
	slices.Sort(sorted)
	return sorted[(len(sorted)*foreseenPercentile+99)/100-1]
}
