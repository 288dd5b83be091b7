package tail

import (
	"net/netip"

	"github.com/fleetlimit/fleetlimit/internal/api"
)

// Decisions are live tails of decisions.
type Decisions = List[DecisionFilter, *api.Decision]

// A DecisionFilter says which decisions a tail has.
type DecisionFilter struct {
	Zones, Outcomes []string            // empty: all
	Keys            map[string][][]byte // by zone, as requests have them; nil for all keys
	Sample          float64             // the fraction of the requests that pass

	// Address has the clients whose requests are wanted that an address has decided before any zone.
	// The zero value has none.
	Address netip.Prefix
}
