// Package live sends the figures of a node to viewers: one snapshot a second, which is made and
// encoded once for all of them. While there is no viewer, there is no goroutine and nothing is
// computed.
package live

import (
	"time"

	"github.com/fleetlimit/fleetlimit/internal/api"
)

// How often viewers get something.
const (
	interval  = time.Second
	topEvery  = 2 // snapshots: the keys that use a zone most
	fleetEach = 5 // snapshots: the nodes of the fleet, which Redis tells
)

// fleetPatience is how long a snapshot waits for Redis. While Redis does not answer, its breaker
// opens, and there is no wait.
const fleetPatience = 200 * time.Millisecond

// maxTop is how many keys viewers get.
const maxTop = 50

// A Snapshot is what a node knows at an instant.
type Snapshot struct {
	Time   int64       `json:"time"` // in milliseconds since 1970
	Status *api.Status `json:"status,omitempty"`

	// Error says why there is no status: the running configuration limits nothing.
	Error string `json:"error,omitempty"`

	// Zones have the rates since the snapshot before. The first snapshot has none.
	Zones []ZoneRates `json:"zones"`
}

// A ZoneRates has how many requests a zone decides in a second.
type ZoneRates struct {
	Zone    string `json:"zone"`
	Waiting int64  `json:"waiting"` // requests that wait for their turn
	Rates
}

// A Fleet has the nodes that share the counts.
type Fleet struct {
	*api.Nodes

	Error string `json:"error,omitempty"` // why Redis does not tell
}

// A Hello is what a viewer gets first.
type Hello struct {
	// Outcomes and Sources name the members of Rates.
	Outcomes []string `json:"outcomes"`
	Sources  []string `json:"sources"`

	Changes bool `json:"changes"` // whether the viewer may change something

	// History has the means of spans of five seconds, the oldest first: those of all zones together,
	// and those of the zone that the viewer has chosen.
	History []Point `json:"history"`
	OfZone  []Point `json:"history_of_zone,omitempty"`
}
