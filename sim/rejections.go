package sim

import (
	"cmp"
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A KeyOutcome is what the limit in force does to one key.
type KeyOutcome struct {
	Key      string    `json:"key"`
	Requests int64     `json:"requests"`
	Rejected int64     `json:"rejected"`
	First    time.Time `json:"first_rejection"`
	Last     time.Time `json:"last_rejection"`

	// Longest is the longest time, in seconds, between two rejections without an admitted request
	// between them.
	Longest float64 `json:"longest_seconds"`

	// Least is the least limit that never rejects the key. It is 0 if it is not known.
	Least int64 `json:"least_limit,omitempty"`
}

// rejections have the number of rejections of each key, and their times.
type rejections struct{ keys []keyRejections }

type keyRejections struct {
	requests, rejected int64
	first, last        limiter.Instant // of the rejections
	since              limiter.Instant // the first rejection since the last admitted request; 0 if there is none
	longest            int64           // KeyOutcome.Longest, in µs
}

func (k *rejections) add(r Arrival, ok bool) {
	key := at(&k.keys, r.Key)
	key.requests++
	if ok {
		key.since = 0
		return
	}
	if key.rejected == 0 {
		key.first = r.At
	}
	if key.since == 0 {
		key.since = r.At
	}
	key.rejected++
	key.last = r.At
	key.longest = max(key.longest, int64(r.At-key.since))
}

// most returns at most top keys, those with the most rejections, in the order of their first
// rejections.
func (k *rejections) most(top int) []Key {
	var hit []Key
	for i := range k.keys {
		if k.keys[i].rejected > 0 {
			hit = append(hit, Key(i))
		}
	}
	slices.SortFunc(hit, func(a, b Key) int {
		return cmp.Or(cmp.Compare(k.keys[b].rejected, k.keys[a].rejected), cmp.Compare(a, b))
	})
	hit = hit[:min(top, len(hit))]
	slices.SortStableFunc(hit, func(a, b Key) int { return cmp.Compare(k.keys[a].first, k.keys[b].first) })
	return hit
}

// outcomes returns the outcomes of keys. least has the least limits of all keys, or is nil if they are
// not known.
func (k *rejections) outcomes(hit []Key, name func(Key) string, least []int64) []KeyOutcome {
	outcomes := make([]KeyOutcome, 0, len(hit))
	for _, n := range hit {
		key := &k.keys[n]
		o := KeyOutcome{
			Key: name(n), Requests: key.requests, Rejected: key.rejected, First: key.first.Time(), Last: key.last.Time(),
			Longest: float64(key.longest) / 1e6,
		}
		if least != nil {
			o.Least = least[n]
		}
		outcomes = append(outcomes, o)
	}
	return outcomes
}
