package redisstore

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/lua"
	"github.com/fleetlimit/fleetlimit/transport"
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

// takeCall returns the call that decides g: see take.lua.
func (s *Store) takeCall(now limiter.Instant, g group, consume bool) *transport.Call {
	operation := "peek"
	if consume {
		operation = "take"
	}
	c := &transport.Call{Script: takeScripts.of(g), Args: []any{s.clock(now), operation}}
	s.add(c, g, func(*limiter.Take) limiter.Instant { return 0 })
	return c
}

// refundCall returns the call that gives back g: see lua.Refund.
func (s *Store) refundCall(now limiter.Instant, g group, taken func(*limiter.Take) limiter.Instant) *transport.Call {
	c := &transport.Call{Script: refundScripts.of(g), Args: []any{s.clock(now), "refund"}}
	s.add(c, g, taken)
	return c
}

// add adds the keys of g and the arguments for each rule: see ask.lua.
func (s *Store) add(c *transport.Call, g group, taken func(*limiter.Take) limiter.Instant) {
	hash := hashName(s.prefix, g[0].Key)
	c.Keys = append(c.Keys, hash)
	for _, k := range g {
		r := k.Rule
		var first, second int64
		switch r.Algorithm.Kind {
		case limiter.TokenBucket:
			first, second = r.Rate()
		case limiter.SlidingWindow:
			first, second = r.SubWindow(), int64(r.Algorithm.SubWindows)
		case limiter.SlidingWindowLog:
			c.Keys = append(c.Keys, logName(hash, r.ID))
			first = int64(len(c.Keys))
		}
		c.Args = append(c.Args, field(r.ID), k.Cost, r.Capacity(), r.Limit.Window.Microseconds(),
			first, second, int64(taken(k)))
	}
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
