package stores

import (
	"time"

	"github.com/fleetlimit/fleetlimit/internal/fleet/membership"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

// An Observer is told what happens to stores. It knows stores by their names. Its methods return at
// once, and are safe for concurrent use.
type Observer interface {
	// Asked returns a function that is told how long each request to a store has taken. err is why the
	// store has not answered, or nil.
	Asked(store string) func(took time.Duration, err error)

	// Failed says that a store has begun to fail. Recovered says that it answers again, and how many
	// requests it has not answered.
	Failed(store string, err error)
	Recovered(store string, uncounted uint64)

	// Breaker says that the breaker of a primary has another state.
	Breaker(store string, b redisconn.Breaker)

	// Lookup says why the primaries cannot be looked up. If err is nil, they can be looked up again.
	Lookup(store string, err error)

	// Mismatch says that another node defines a zone differently, or that no node does so any more.
	Mismatch(store string, m membership.Mismatch)

	// NodesNotKept says why the number of nodes cannot be written to, or read from, Caddy's storage.
	NodesNotKept(store string, err error)

	// Overflow says that a zone in memory has no room for a new key.
	Overflow(zone string)

	// Ended says that the last store with this name has closed.
	Ended(store string)
}
