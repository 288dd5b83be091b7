package fleetlimit

import (
	"fmt"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/lease"
	"github.com/fleetlimit/fleetlimit/limiter/memstore"
	"github.com/fleetlimit/fleetlimit/limiter/redisstore"
)

// A store is where the counts of a configuration live, with how it is doing.
type store struct {
	limiter.Store
	id     storeID
	name   string            // for logs and metrics
	memory *memstore.Store   // the same; nil: the counts are in Redis
	leases *lease.Store      // the same; nil: the counts are in memory
	counts *redisstore.Store // what leases asks
	health health
	nodes  *fleetMember // that count in the same place; nil in memory
	end    func()
}

// Destruct ends the store when no configuration uses it any longer.
func (s *store) Destruct() error {
	s.end()
	return nil
}

// instant returns t, which was just read, by the clock that takes are decided by. A node keeps accounts by a clock that is never set.
func (s *store) instant(t time.Time) limiter.Instant {
	if s.leases != nil {
		return s.leases.At(t)
	}
	return limiter.At(t)
}

// open opens a zone.
func (s *store) open(zone string) *zoneHandle {
	if s.leases != nil {
		z := s.leases.Open(zone)
		return &zoneHandle{z, z.Close}
	}
	z := s.memory.Open(zone)
	return &zoneHandle{z, z.Close}
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
