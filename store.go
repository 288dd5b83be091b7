package fleetlimit

import (
	"fmt"
	"sync/atomic"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/memstore"
	"github.com/fleetlimit/fleetlimit/limiter/redisstore"
)

// A store is where the counts of a configuration live, with how it is doing.
type store struct {
	limiter.Store
	name   string          // for logs
	memory *memstore.Store // the same; nil: the counts are in Redis
	health health
	nodes  *nodes // that count in the same place; nil in memory
	end    func()
}

// Destruct ends the store when no configuration uses it any longer.
func (s *store) Destruct() error {
	s.end()
	return nil
}

// fits returns an error when the app's store cannot count a rule exactly.
func (a *App) fits(r *rule) error {
	if a.Redis == nil || r.Rule == nil {
		return nil
	}
	if err := redisstore.Check(r.Rule); err != nil {
		return fmt.Errorf("limit: %w", err)
	}
	return nil
}

// zoneState is what outlives a configuration of a zone besides its counts.
type zoneState struct {
	name  string
	tally tally
}

// Destruct does nothing: the tally ends with the last configuration that has the zone.
func (z *zoneState) Destruct() error { return nil }

// tally counts what became of requests since the zone exists.
type tally struct {
	admitted     atomic.Uint64 // within the limit
	rejected     atomic.Uint64 // 429
	degraded     atomic.Uint64 // admitted uncounted, as the store did not answer
	allowed      atomic.Uint64 // past the zone by its allow_key list
	denied       atomic.Uint64 // 403 by its deny_key list, or for want of a key
	missingKeys  atomic.Uint64
	invalidCosts atomic.Uint64
}
