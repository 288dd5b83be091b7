package stores

import (
	"time"

	"github.com/fleetlimit/fleetlimit/internal/fleet/membership"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

// An Observer is told what happens to stores, which it knows by their names. Its methods return at
// once, and are safe for concurrent use.
type Observer interface {
	// Asked returns a function for how long each request to a store takes. err is why it was not
	// answered.
	Asked(store string) func(took time.Duration, err error)

	// Failed says that a store has begun to fail, and Recovered that it answers again, after a number
	// of requests that it has not answered.
	Failed(store string, err error)
	Recovered(store string, uncounted uint64)

	// Breaker says that the breaker of a primary has another state.
	Breaker(store string, b redisconn.Breaker)

	// Lookup says why the primaries cannot be looked up, or that they can be again if err is nil.
	Lookup(store string, err error)

	// Mismatch says that another node defines a zone differently, or that none does any more.
	Mismatch(store string, m membership.Mismatch)

	// NodesNotKept says why the number of nodes cannot be kept in Caddy's storage.
	NodesNotKept(store string, err error)

	// Overflow says that a zone in memory has no room for a new key.
	Overflow(zone string)

	// Ended says that no store has the name any more.
	Ended(store string)
}
