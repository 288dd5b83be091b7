package stores

import (
	"fmt"
	"strings"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

// maxLatency is the longest time in which a primary may answer a probe of a node that is ready.
const maxLatency = 100 * time.Millisecond

// Readiness returns the health of the stores. It reads the states of the breakers and does not ask
// Redis, so health checks are fast and cannot load Redis.
func Readiness() api.Readiness {
	r := api.Readiness{Status: api.HealthOK, Stores: []api.StoreHealth{}}
	for _, s := range States() {
		health := s.health()
		r.Status = r.Status.Worse(health.Status)
		r.Stores = append(r.Stores, health)
	}
	return r
}

func (s *State) health() api.StoreHealth {
	h := api.StoreHealth{Store: s.Name, Status: api.HealthOK, Primaries: []api.PrimaryHealth{}}
	switch {
	case s.LookupErr != nil:
		h.Status, h.Error = api.HealthDegraded, fmt.Sprintf("the primaries cannot be looked up: %v", s.LookupErr)
	case len(s.Primaries) == 0:
		h.Status, h.Error = api.HealthDegraded, "no primary is known"
	}
	for i := range s.Primaries {
		p := primaryHealth(s.Primaries[i].Breaker)
		if server := s.Primaries[i].Server; server != nil {
			p.MemoryBytes, p.MaxMemoryBytes = server.Memory, server.MaxMemory
		}
		h.Status = h.Status.Worse(p.Status)
		h.Primaries = append(h.Primaries, p)
	}
	return h
}

func primaryHealth(b redisconn.Breaker) api.PrimaryHealth {
	p := api.PrimaryHealth{
		Address: b.Addr, Status: api.HealthOK, Breaker: b.State.String(), LatencyMS: float64(b.Latency.Microseconds()) / 1000,
	}
	switch {
	case b.State != redisconn.Closed:
		p.Status, p.Error = api.HealthDegraded, reason(b)
	case b.Latency > maxLatency:
		p.Status, p.Error = api.HealthDegraded, fmt.Sprintf("its newest answer took longer than %v", maxLatency)
	}
	return p
}

// reason returns why the breaker is not closed. It leaves out the words of ErrOpen and the address,
// which stand beside it.
func reason(b redisconn.Breaker) string {
	return strings.TrimPrefix(b.Err.Error(), redisconn.ErrOpen.Error()+": "+b.Addr+": ")
}
