package api

import "time"

// An InspectRequest is the body of POST /rate_limit/zones/{zone}/inspect.
type InspectRequest struct {
	ShownKeyName
	Endpoint string `json:"endpoint"`
	Tier     string `json:"tier"` // that the placeholder of requests would give
}

// An Inspection is what is known of a key.
type Inspection struct {
	Zone string `json:"zone"`
	ShownKey
	Version int64            `json:"version"` // of the rules
	Access  *DecidedBy       `json:"access,omitempty"`
	Tier    *DecidedBy       `json:"tier,omitempty"`
	Counts  []InspectedCount `json:"counts"`

	Concurrent []InspectedConcurrent `json:"concurrent,omitempty"`
}

// An InspectedConcurrent is a limit of requests at once, at an endpoint that sets its own, or in the
// rest of the zone.
type InspectedConcurrent struct {
	Endpoint string `json:"endpoint,omitempty"`
	Tier     string `json:"tier,omitempty"`
	Limit    int64  `json:"limit"`
	InFlight int64  `json:"in_flight"`        // on this node
	Leased   int64  `json:"leased,omitempty"` // permits of this node

	Override string `json:"override,omitempty"` // the ID of the override that it is from
}

// A DecidedBy is what decides something about a key.
type DecidedBy struct {
	Action string `json:"action,omitempty"` // allow or deny
	Name   string `json:"name,omitempty"`   // of a tier

	// Source is FromRules, with the ID of the entry, or FromConfiguration. For tiers it is FromRules,
	// FromKeys, FromRequest, FromDefault, or FromPlaceholder without a name.
	Source string `json:"source"`
	Entry  string `json:"entry,omitempty"`

	Placeholder string `json:"placeholder,omitempty"` // of FromPlaceholder
}

// What decides the tier of a key, beside FromRules.
const (
	FromKeys        = "keys"        // a pattern of the configuration
	FromRequest     = "request"     // the request to the admin API
	FromPlaceholder = "placeholder" // each request of the key for itself
	FromDefault     = "default"
)

// An InspectedCount is the limit and the count of a key at an endpoint, or in the rest of the zone.
// If each request decides its tier, there is one for each tier: the same count under its limit.
type InspectedCount struct {
	Endpoint string      `json:"endpoint,omitempty"`
	Tier     string      `json:"tier,omitempty"`
	Limit    string      `json:"limit"` // in force
	From     []Origin    `json:"from"`  // the last is in force
	Count    *CountState `json:"count,omitempty"`
	Node     *NodeState  `json:"node,omitempty"`
	Error    string      `json:"error,omitempty"` // why there is no count
}

// A CountState is what the store has.
type CountState struct {
	Limit       int64      `json:"limit"`
	Remaining   int64      `json:"remaining"`
	Consumed    int64      `json:"consumed"`
	RetryAt     *time.Time `json:"retry_at,omitempty"` // nil for now
	ResetAt     *time.Time `json:"reset_at,omitempty"` // nil for now
	Leased      int64      `json:"leased,omitempty"`
	LeasedUntil *time.Time `json:"leased_until,omitempty"`
}

// A NodeState is what this node knows and holds.
type NodeState struct {
	Leases      []NodeLease `json:"leases"`
	Debt        int64       `json:"debt"`
	DeniedUntil *time.Time  `json:"denied_until,omitempty"`
	DeniedCost  int64       `json:"denied_cost,omitempty"`
	Demand      float64     `json:"demand_per_second"`
	Requesting  bool        `json:"requesting"`
}

// A NodeLease is what a lease of this node has left.
type NodeLease struct {
	Events    int64     `json:"events"`
	ExpiresAt time.Time `json:"expires_at"`
}
