package topkeys

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
)

// Most is how many keys a Top has at most. The counts of keys further down are hardly larger than
// their errors.
const Most = 100

// A Top lists the keys of one node or several that were used most in the last 30 to 60 seconds, the
// most used first.
type Top struct {
	Keys []Key

	// Unlisted is the most events per second that a key which is not listed can have.
	Unlisted float64
}

// A Key is a key under a rule, and how much it was used.
type Key struct {
	ID
	Limit     uint32  // see [Take]
	PerSecond float64 // events, at least
	Error     float64 // how many more there may be
}

// An ID identifies the count of a key.
type ID struct {
	Rule uint32
	Key  string
}

// Top returns the keys that were used most at now.
func (l *List) Top(now time.Time) Top {
	var all []Key
	rest, per := uint64(0), 1/l.seconds(now)
	l.each(func(s *sketch) {
		s.advance(generationAt(now))
		all = s.appendKeys(all, per)
		rest = max(rest, s.atMost())
	})
	return newTop(all, float64(rest)*per)
}

// seconds returns how many seconds were counted at now: from the generation before on, if the list
// had begun by then.
func (l *List) seconds(now time.Time) float64 {
	began := time.Unix((generationAt(now)-1)*int64(generationLasts/time.Second), 0)
	if l.began.After(began) {
		began = l.began
	}
	return max(1, now.Sub(began).Seconds())
}

// appendKeys appends the keys of s. per converts what was counted to a rate.
func (s *sketch) appendKeys(all []Key, per float64) []Key {
	for i := range s.counters {
		c := &s.counters[i]
		if certain := s.events[i] - c.errors; certain > 0 {
			all = append(all, Key{
				ID: ID{c.rule, string(c.key[:c.length])}, Limit: c.limit,
				PerSecond: float64(certain) * per, Error: float64(c.errors+s.evicted) * per,
			})
		}
	}
	return all
}

// newTop returns a list of the most used of all. rest is the most that keys can have which are not
// in all.
func newTop(all []Key, rest float64) Top {
	slices.SortFunc(all, func(a, b Key) int {
		return cmp.Or(cmp.Compare(b.PerSecond, a.PerSecond), strings.Compare(a.ID.Key, b.ID.Key), cmp.Compare(a.Rule, b.Rule))
	})
	for _, k := range all[min(Most, len(all)):] {
		rest = max(rest, k.PerSecond+k.Error)
	}
	return Top{slices.Clip(all[:min(Most, len(all))]), rest}
}

// Merge returns the list of several nodes. The use of a key is the sum of what is certain on each
// node. A node that does not list a key may have served it, too: that is a part of the error.
func Merge(nodes ...Top) Top {
	keys, unlisted := make(map[ID]Key), 0.0
	for _, n := range nodes {
		unlisted += n.Unlisted
		for _, k := range n.Keys {
			sum := keys[k.ID]
			sum.ID, sum.Limit = k.ID, k.Limit
			sum.PerSecond += k.PerSecond
			sum.Error += k.Error - n.Unlisted
			keys[k.ID] = sum
		}
	}
	all := make([]Key, 0, len(keys))
	for _, k := range keys {
		k.Error = math.Max(0, k.Error+unlisted)
		all = append(all, k)
	}
	return newTop(all, unlisted)
}
