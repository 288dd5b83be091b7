package redisstore

import (
	"sync"

	redis "github.com/redis/go-redis/v9"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/lua"
)

// scripts are the scripts of one operation, made when they are first needed: a configuration has few lists of algorithms.
type scripts struct {
	text func([]limiter.Kind) string
	made sync.Map // string(kinds) -> *redis.Script
}

var (
	takeScripts   = scripts{text: lua.Take}
	refundScripts = scripts{text: lua.Refund}
)

// of returns the script for the takes of g.
func (s *scripts) of(g group) *redis.Script {
	var room [lua.MaxRules]limiter.Kind
	kinds := room[:0]
	key := make([]byte, 0, lua.MaxRules)
	for _, k := range g {
		kinds = append(kinds, k.Rule.Algorithm.Kind)
		key = append(key, byte(k.Rule.Algorithm.Kind))
	}
	if script, ok := s.made.Load(string(key)); ok {
		return script.(*redis.Script)
	}
	script, _ := s.made.LoadOrStore(string(key), redis.NewScript(s.text(kinds)))
	return script.(*redis.Script)
}
