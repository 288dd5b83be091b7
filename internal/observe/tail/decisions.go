package tail

import (
	"net/netip"

	"github.com/fleetlimit/fleetlimit/internal/api"
)

// Decisions are the open tails of decisions.
type Decisions = List[DecisionFilter, *api.Decision]

// A DecisionFilter says which decisions a tail has.
type DecisionFilter struct {
	Zones, Outcomes []string            // names that match; empty if all match
	Keys            map[string][][]byte // by zone, in the form in which requests have them; nil if all match
	Sample          float64             // fraction of the requests that the tail gets

	// Address is for requests that an allow or deny list of addresses decides, before any zone. Such a
	// request matches if the address of its client is in Address. No request matches the zero value.
	Address netip.Prefix
}
