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
	lendScripts   = scripts{text: lua.Lend}
)

// of returns the script for rules of these algorithms.
func (s *scripts) of(kinds []limiter.Kind) *redis.Script {
	key := make([]byte, 0, lua.MaxRules)
	for _, kind := range kinds {
		key = append(key, byte(kind))
	}
	if script, ok := s.made.Load(string(key)); ok {
		return script.(*redis.Script)
	}
	script, _ := s.made.LoadOrStore(string(key), redis.NewScript(s.text(kinds)))
	return script.(*redis.Script)
}
