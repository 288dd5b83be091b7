package leasetest

import (
	"strconv"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A checkedLimit is a limit whose bound is checked.
type checkedLimit struct {
	limit   limiter.Rule  // in force
	rule    *limiter.Rule // of that limit, in no zone
	highest *limiter.Rule // of the highest limit that there was
}

func newCheckedLimit(limit limiter.Rule) checkedLimit {
	r := mustRule(limit)
	return checkedLimit{limit, r, r}
}

const (
	// secondID is that of the second limit of a fleet, secondKeys is where the checker has its keys.
	secondID   = 3
	secondKeys = 3
)

// checks reports whether the bound of a rule is checked.
func checks(r *limiter.Rule) bool { return r.ID == 1 || r.ID == secondID }

// limits returns those that are checked.
func (s *simulation) limits() []*checkedLimit {
	if s.second == nil {
		return []*checkedLimit{&s.checkedLimit}
	}
	return []*checkedLimit{&s.checkedLimit, s.second}
}

// ruleOf returns the rule of a key.
func (n *simNode) ruleOf(key int) *limiter.Rule {
	if n.second != nil && key >= secondKeys {
		return n.second
	}
	return n.rule
}

// textOf returns the text of a key. Those of both limits have the same.
func (n *simNode) textOf(key int) []byte {
	if n.second != nil && key >= secondKeys {
		key -= secondKeys
	}
	return strconv.AppendInt(nil, int64(key), 10)
}

// sumsOf returns the sums that count the events of a key.
func (n *simNode) sumsOf(key int) *nodeSums {
	if n.second != nil && key >= secondKeys {
		return &n.sums[1]
	}
	return &n.sums[0]
}

// addSecond has requests take from a second limit, too: all or nothing. If one of them denies a
// request, what the other one has given must come back to it, and nothing else.
func (s *simulation) addSecond(limit limiter.Rule) {
	limit.ID = secondID
	second := newCheckedLimit(limit)
	s.second = &second
	s.checker.addKeys(secondKeys-s.keys, &s.checkedLimit) // which nobody uses
	s.checker.addKeys(secondKeys, s.second)
}

// takeSecond adds a take of the second limit, in most cases, of the same key or of another one,
// which some requests share.
func (n *simNode) takeSecond(takes []limiter.Take, keys []int) ([]limiter.Take, []int) {
	if n.rng.IntN(4) == 0 {
		return takes, keys
	}
	key := secondKeys
	if n.rng.IntN(2) == 0 {
		key += keys[0]
	}
	k := limiter.Take{Rule: n.second, Key: n.textOf(key), Cost: oneOf(n.rng, 1, takes[0].Cost)}
	if n.rng.IntN(2) == 0 {
		return []limiter.Take{k, takes[0]}, []int{key, keys[0]}
	}
	return append(takes, k), append(keys, key)
}
