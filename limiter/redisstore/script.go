package redisstore

import (
	"sync"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/lua"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

// scripts are the scripts of one operation, made when they are first needed: a configuration has few lists of algorithms.
//
// To make one takes milliseconds. After a start, thousands of requests may need the same one, so it
// is made once and the others wait for it: if each made its own, they would all be late.
type scripts struct {
	text func([]limiter.Kind) string
	made sync.Map // string(kinds) -> func() *redisconn.Script
}

var (
	takeScripts   = scripts{text: lua.Take}
	refundScripts = scripts{text: lua.Refund}
	lendScripts   = scripts{text: lua.Lend}
)

// of returns the script for rules of these algorithms.
func (s *scripts) of(kinds []limiter.Kind) *redisconn.Script {
	key := make([]byte, 0, lua.MaxRules)
	for _, kind := range kinds {
		key = append(key, byte(kind))
	}
	script, ok := s.made.Load(string(key))
	if !ok {
		once := sync.OnceValue(func() *redisconn.Script { return redisconn.NewScript(s.text(kinds)) })
		script, _ = s.made.LoadOrStore(string(key), once)
	}
	return script.(func() *redisconn.Script)()
}
