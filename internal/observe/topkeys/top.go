package topkeys

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
)

// Most is the highest number of keys in a Top. The counts of further keys are hardly larger than
// their errors.
const Most = 100

// A Top lists the keys that were used most in the last 30 to 60 seconds, on one node or several.
// The most used key comes first.
type Top struct {
	Keys []Key

	// Unlisted is an upper bound of the events per second of any key that is not listed.
	Unlisted float64
}

// A Key says how much a key was used under a rule.
type Key struct {
	ID
	Limit     uint32  // see [Take]
	PerSecond float64 // events that are certainly those of the key
	Error     float64 // events per second that may be those of the key, or of others
}

// An ID identifies a count: a key under a rule.
type ID struct {
	Rule uint32
	Key  string
}

// Top returns the keys that were used most in the time before now.
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

// seconds returns how many seconds the counts at now cover: since the generation before began, or
// since the list began if that is later.
func (l *List) seconds(now time.Time) float64 {
	began := time.Unix((generationAt(now)-1)*int64(generationLasts/time.Second), 0)
	if l.began.After(began) {
		began = l.began
	}
	return max(1, now.Sub(began).Seconds())
}

// appendKeys appends the keys of s to all. A count times per is a rate in events per second.
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

// newTop returns the Top of all. rest is an upper bound of the rate of any key that is not in all.
func newTop(all []Key, rest float64) Top {
	slices.SortFunc(all, func(a, b Key) int {
		return cmp.Or(cmp.Compare(b.PerSecond, a.PerSecond), strings.Compare(a.ID.Key, b.ID.Key), cmp.Compare(a.Rule, b.Rule))
	})
	for _, k := range all[min(Most, len(all)):] {
		rest = max(rest, k.PerSecond+k.Error)
	}
	return Top{slices.Clip(all[:min(Most, len(all))]), rest}
}

// Merge returns the Top of several nodes. The rate of a key is the sum of the rates that are
// certain on each node. A node that does not list the key may have served it all the same, so the
// Unlisted of that node is a part of the error.
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
