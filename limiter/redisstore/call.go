package redisstore

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/lua"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

// A group is the takes of one key, which one call decides.
type group []*limiter.Take

// groupByKey returns the takes by key, in the order in which the keys come. Of one key, no more are together than a script
// can be asked for.
func groupByKey(takes []limiter.Take) []group {
	groups := make([]group, 0, len(takes))
next:
	for i := range takes {
		k := &takes[i]
		for j, g := range groups {
			if len(g) < lua.MaxRules && string(g[0].Key) == string(k.Key) {
				groups[j] = append(g, k)
				continue next
			}
		}
		groups = append(groups, group{k})
	}
	return groups
}

// fail says why g could not be decided; nil says that it was.
func (g group) fail(err error) {
	for _, k := range g {
		k.Err = err
	}
}

// kinds returns the algorithms of the rules of g.
func (g group) kinds() []limiter.Kind {
	kinds := make([]limiter.Kind, 0, lua.MaxRules)
	for _, k := range g {
		kinds = append(kinds, k.Rule.Algorithm.Kind)
	}
	return kinds
}

// takeCall returns the call that decides g: see take.lua.
func (s *Store) takeCall(now limiter.Instant, g group, consume bool) *redisconn.Call {
	operation := "peek"
	if consume {
		operation = "take"
	}
	c := s.call(g[0].Key, len(g), now, operation)
	c.Script, c.NewKey = takeScripts.of(g.kinds()), consume && !s.known.has(g[0].Key)
	for _, k := range g {
		s.add(c, k.Rule, k.Cost, 0)
	}
	return c
}

// refundCall returns the call that gives back g: see refund.lua.
func (s *Store) refundCall(now limiter.Instant, g group) *redisconn.Call {
	c := s.call(g[0].Key, len(g), now, "refund")
	c.Script = refundScripts.of(g.kinds())
	for _, k := range g {
		s.add(c, k.Rule, k.Cost, appendEvents(nil, k.Decision.Seen()))
	}
	return c
}

// call returns a call about so many rules of a key, which are to be added: see ask.lua.
func (s *Store) call(key []byte, rules int, now limiter.Instant, what any) *redisconn.Call {
	args := make([]any, 0, 2+7*rules)
	return &redisconn.Call{Keys: []string{hashName(s.prefix, key)}, Args: append(args, s.clock(now), what)}
}

// add adds the key and the arguments for a rule: see ask.lua.
func (s *Store) add(c *redisconn.Call, r *limiter.Rule, cost int64, last any) {
	var first, second int64
	switch r.Algorithm.Kind {
	case limiter.TokenBucket:
		first, second = r.Rate()
	case limiter.SlidingWindow:
		first, second = r.SubWindow(), int64(r.Algorithm.SubWindows)
	case limiter.SlidingWindowLog:
		c.Keys = append(c.Keys, logName(c.Keys[0], r.ID))
	}
	c.Args = append(c.Args, field(r.ID), cost, r.Capacity(), r.Limit.Window.Microseconds(), first, second, last)
}

// field returns the field of a rule in the hash of a key.
func field(id uint32) string {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], id)
	return string(b[:])
}

// hashName returns the name of the hash that holds the counts of key: all that it has in Redis is in the slot of what is
// between the braces. A brace in the key would end that early, and an empty key would leave nothing: so `}` is written as
// `%7D`, `%` as `%25`, and the empty key as `%`.
func hashName(prefix string, key []byte) string {
	var b strings.Builder
	b.Grow(len(prefix) + len(key) + 3)
	b.WriteString(prefix)
	b.WriteString(":{")
	if len(key) == 0 {
		b.WriteByte('%')
	}
	for _, c := range key {
		switch c {
		case '}':
			b.WriteString("%7D")
		case '%':
			b.WriteString("%25")
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('}')
	return b.String()
}

// logName returns the name of the sorted set that holds the sliding window log of a rule.
func logName(hash string, id uint32) string { return fmt.Sprintf("%s:%08x", hash, id) }
