package redisstore

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/lua"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

// scripts are the scripts of one operation, by the algorithms of the rules. Each is made when it is
// first needed: a configuration has few lists of algorithms.
//
// Making a script takes milliseconds. Thousands of requests may need the same script after a start,
// so one of them makes it and the others wait. If each request made its own, all would be late.
type scripts struct {
	source func([]limiter.Kind) string
	made   sync.Map // string(kinds) -> func() *redisconn.Script
}

var (
	takeScripts     = scripts{source: lua.Take}
	refundScripts   = scripts{source: lua.Refund}
	chargeScripts   = scripts{source: lua.Charge}
	lendScripts     = scripts{source: lua.Lend}
	resetScripts    = scripts{source: lua.Reset}
	giveBackScripts = scripts{source: lua.GiveBack}
	addQuotaScripts = scripts{source: lua.AddQuota}
)

// scriptFor returns the script for rules of these algorithms.
func (s *scripts) scriptFor(kinds []limiter.Kind) *redisconn.Script {
	key := make([]byte, 0, lua.MaxRules)
	for _, kind := range kinds {
		key = append(key, byte(kind))
	}
	script, ok := s.made.Load(string(key))
	if !ok {
		once := sync.OnceValue(func() *redisconn.Script { return redisconn.NewScript(s.source(kinds)) })
		script, _ = s.made.LoadOrStore(string(key), once)
	}
	return script.(func() *redisconn.Script)()
}

// A group is the takes of one key that one call decides.
type group []*limiter.Take

// groupByKey returns the takes by key, in the order of the keys. A group has at most as many takes
// as a script has rules.
func groupByKey(takes []limiter.Take) []group {
	groups := make([]group, 0, len(takes))
	for i := range takes {
		k := &takes[i]
		hasRoom := func(g group) bool { return len(g) < lua.MaxRules && bytes.Equal(g[0].Key, k.Key) }
		if j := slices.IndexFunc(groups, hasRoom); j >= 0 {
			groups[j] = append(groups[j], k)
		} else {
			groups = append(groups, group{k})
		}
	}
	return groups
}

// takeCall returns the call that decides g: see take.lua.
func (s *Store) takeCall(now limiter.Instant, g group, consume bool) *redisconn.Call {
	operation := "peek"
	if consume {
		operation = "take"
	}
	b := s.newCall(g[0].Key, now, operation)
	b.NewKey = consume && !s.known.has(g[0].Key)
	for _, k := range g {
		b.add(k.Rule, k.Cost, min(k.Wait, k.Rule.MaxWait.Microseconds()))
	}
	return b.callOf(&takeScripts)
}

// refundCall returns the call that refunds g: see refund.lua.
func (s *Store) refundCall(now limiter.Instant, g group) *redisconn.Call {
	b := s.newCall(g[0].Key, now, "refund")
	for _, k := range g {
		b.add(k.Rule, k.Cost, string(appendEvents(nil, k.Decision.Seen())))
	}
	return b.callOf(&refundScripts)
}

// giveBackCall returns the call that gives back what k was promised: see give_back.lua.
func (s *Store) giveBackCall(now limiter.Instant, k *limiter.Take) *redisconn.Call {
	b := s.newCall(k.Key, now, "give back")
	b.add(k.Rule, k.Cost, string(appendNumber(appendNumber(nil, 7, int64(k.Decision.Turn)), 7, int64(k.Decision.At))))
	return b.callOf(&giveBackScripts)
}

// refundCalls returns the calls that refund g.
func (s *Store) refundCalls(now limiter.Instant, g group) (calls []*redisconn.Call) {
	promised := func(k *limiter.Take) bool { return k.Decision.Turn != 0 }
	for _, k := range g {
		if promised(k) {
			calls = append(calls, s.giveBackCall(now, k))
		}
	}
	if rest := slices.DeleteFunc(slices.Clone(g), promised); len(rest) > 0 {
		calls = append(calls, s.refundCall(now, rest))
	}
	return calls
}

// chargeCall returns the call that charges g: see charge.lua.
func (s *Store) chargeCall(now limiter.Instant, g group) *redisconn.Call {
	b := s.newCall(g[0].Key, now, "charge")
	b.NewKey = !s.known.has(g[0].Key)
	for _, k := range g {
		b.add(k.Rule, k.Cost, 0)
	}
	return b.callOf(&chargeScripts)
}

// A callBuilder builds a call for several rules of one key: see args.lua.
type callBuilder struct {
	redisconn.Call
	kinds []limiter.Kind

	room struct { // for the call of one rule, in one allocation
		keys  [2]string
		args  [2 + 7]any
		kinds [lua.MaxRules]limiter.Kind
	}
}

func (s *Store) newCall(key []byte, now limiter.Instant, operation any) *callBuilder {
	b := new(callBuilder)
	b.Keys = append(b.room.keys[:0], hashName(s.prefix, key))
	b.Args = append(b.room.args[:0], s.clock(now), operation)
	b.kinds = b.room.kinds[:0]
	return b
}

// add adds the arguments for a rule, and the key of its log if it has one. last is the argument of
// the operation.
func (b *callBuilder) add(r *limiter.Rule, cost int64, last any) {
	var first, second any = 0, 0
	switch r.Algorithm.Kind {
	case limiter.TokenBucket:
		if first, second = r.Rate(); r.MaxWait > 0 {
			second = fmt.Sprint(second, ":", r.MostMissing())
		}
		if r.KeepFor > 0 {
			first = fmt.Sprint(first, ":", r.KeepFor.Microseconds())
		}
	case limiter.SlidingWindow:
		first, second = r.SubWindow(), int64(r.Algorithm.SubWindows)
	case limiter.SlidingWindowLog:
		b.Keys = append(b.Keys, logName(b.Keys[0], r.ID))
	}
	b.Args = append(b.Args, field(r.ID), cost, r.Capacity(), r.Limit.Window.Microseconds(), first, second, last)
	b.kinds = append(b.kinds, r.Algorithm.Kind)
}

// callOf returns the call, with the script of an operation.
func (b *callBuilder) callOf(operation *scripts) *redisconn.Call {
	b.Script = operation.scriptFor(b.kinds)
	return &b.Call
}

func appendEvents(b []byte, e limiter.Events) []byte {
	return appendNumber(appendNumber(b, 5, e.N), 7, int64(e.At))
}

// appendNumber appends n in the given number of bytes, at most seven, big endian. A number that
// does not fit is replaced by the nearest number that does.
func appendNumber(b []byte, bytes int, n int64) []byte {
	n = min(max(n, 0), 1<<(8*bytes)-1)
	for shift := 8 * (bytes - 1); shift >= 0; shift -= 8 {
		b = append(b, byte(n>>shift))
	}
	return b
}

// field returns the field of a rule in the hash of a key.
func field(id uint32) string { return string(binary.BigEndian.AppendUint32(nil, id)) }

// hashName returns the name of the hash that holds the counts of key. Its hash tag, between the
// braces, puts all Redis keys of key into one slot. A brace in the key would end the tag early, and
// an empty tag does not count: so `}` is written as `%7D`, `%` as `%25`, and the empty key as `%`.
func hashName(prefix string, key []byte) string {
	switch {
	case len(key) == 0:
		return prefix + ":{%}"
	case bytes.ContainsAny(key, "%}"):
		return prefix + ":{" + tagEscapes.Replace(string(key)) + "}"
	}
	return prefix + ":{" + string(key) + "}"
}

// keyOf returns the key whose hash has this name. It reports false if no key has such a hash.
func keyOf(prefix, hash string) (key []byte, ok bool) {
	tag := strings.TrimSuffix(strings.TrimPrefix(hash, prefix+":{"), "}")
	if tag != "%" {
		key = []byte(tagUnescapes.Replace(tag))
	}
	return key, hashName(prefix, key) == hash
}

var (
	tagEscapes   = strings.NewReplacer("%", "%25", "}", "%7D")
	tagUnescapes = strings.NewReplacer("%25", "%", "%7D", "}")
)

// logName returns the name of the sorted set that holds the sliding window log of a rule.
func logName(hash string, id uint32) string { return fmt.Sprintf("%s:%08x", hash, id) }
