package adminapi

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/spelling"
)

// A Top lists the keys that use a zone most, the greatest use first.
type Top struct {
	Zone  string    `json:"zone"`
	Node  string    `json:"node"`            // that has answered
	Fleet *TopFleet `json:"fleet,omitempty"` // nil: it is the view of that node alone
	By    string    `json:"by"`              // what the keys are sorted by

	// Unlisted is how much use a key that is not listed has at most, besides those that By and a limit
	// leave out.
	Unlisted float64  `json:"unlisted_per_second"`
	Keys     []TopKey `json:"keys"`
}

// A TopFleet is how many nodes a Top is the view of.
type TopFleet struct {
	Nodes    int `json:"nodes"` // that are alive
	Answered int `json:"answered"`
}

// What the keys of a Top are sorted by.
const (
	ByDemand      = "demand"
	ByTaken       = "taken"
	ByRejected    = "rejected"
	ByUtilisation = "utilisation"
)

// TopOrders are all orders of a Top.
var TopOrders = []string{ByDemand, ByTaken, ByRejected, ByUtilisation}

// A ShownKey is a key at an endpoint, or in the rest of the zone, as operators may see it.
type ShownKey struct {
	Key       string `json:"key,omitempty"`
	Base64    string `json:"key_base64,omitempty"`
	Stored    string `json:"key_stored,omitempty"`    // if neither of them names the key
	Shortened string `json:"key_shortened,omitempty"` // in their place, if the key may be a secret
	Hash      string `json:"key_hash,omitempty"`
	Missing   bool   `json:"missing,omitempty"`
	Endpoint  string `json:"endpoint,omitempty"`
}

// A TopKey is how much a key uses an endpoint, or the rest of the zone. What is per second is an
// average over the last 30 to 60 seconds.
type TopKey struct {
	ShownKey

	Limit       string  `json:"limit"`
	Demand      float64 `json:"demand_per_second"`
	Taken       float64 `json:"taken_per_second"`
	Rejected    float64 `json:"rejected_per_second"`
	Error       float64 `json:"error_per_second"` // how much more demand there may be
	Utilisation float64 `json:"utilisation"`      // of the limit, by what is taken
}

// How many keys a Top has.
const (
	DefaultTop = 20
	MaxTop     = 100
)

// A TopQuery says what a Top is about.
type TopQuery struct {
	Endpoint string // "": all of the zone
	By       string
	Most     int
	Fleet    bool // all nodes
}

// getTop answers GET /rate_limit/zones/{zone}/top.
func getTop(c Running, w http.ResponseWriter, r *http.Request) (any, error) {
	query := r.URL.Query()
	zone, err := zoneOf(c, r, query.Get("endpoint"))
	if err != nil {
		return nil, err
	}
	most, err := queryInt(r, "limit", DefaultTop, 1)
	if err != nil {
		return nil, err
	}
	if most > MaxTop {
		return nil, apiError(http.StatusBadRequest, "limit is %d: use 1 to %d", most, MaxTop)
	}
	q := &TopQuery{Endpoint: query.Get("endpoint"), By: cmp.Or(query.Get("by"), ByDemand), Most: int(most)}
	if !slices.Contains(TopOrders, q.By) {
		return nil, apiError(http.StatusBadRequest, "%w", spelling.UnknownWord("by", q.By, TopOrders, nil))
	}
	if q.Fleet, err = queryBool(r, "fleet"); err != nil {
		return nil, err
	}
	top, err := topOf(r.Context(), c, zone, q)
	if err != nil {
		return nil, apiError(http.StatusServiceUnavailable, "Redis does not tell what other nodes list: %w: use this without fleet, or "+
			"GET /rate_limit/health/ready to see why", err)
	}
	return top, nil
}

// A question for the top keys of the fleet is repeated until all nodes have answered, but not for
// longer than topPatience: nodes see it in their next heartbeat, which they have every 5 s.
const (
	topPatience   = 7 * time.Second
	topAgainAfter = 250 * time.Millisecond
)

// topOf returns the keys that use a zone most. It waits for other nodes if it is about them.
func topOf(ctx context.Context, c Running, zone string, q *TopQuery) (*Top, error) {
	ctx, cancel := context.WithTimeout(ctx, topPatience)
	defer cancel()
	for {
		top, err := c.Top(ctx, zone, q)
		if err != nil || top.Fleet == nil || top.Fleet.Answered >= top.Fleet.Nodes {
			return top, err
		}
		select {
		case <-ctx.Done():
			return top, nil
		case <-time.After(topAgainAfter):
		}
	}
}
