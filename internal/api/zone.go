package api

// A Zones lists the zones of the running configuration.
type Zones struct {
	Zones []ZoneLimits `json:"zones"`
}

// ZoneLimits describe a zone of the running configuration, with what the rules change of it.
type ZoneLimits struct {
	Name    string           `json:"name"`
	Key     string           `json:"key,omitempty"`
	DryRun  string           `json:"dry_run,omitempty"`
	Compare string           `json:"compare,omitempty"` // the percentage of keys that are compared
	Limits  []EndpointLimits `json:"limits"`

	Adaptive *Adaptive `json:"adaptive,omitempty"` // nil if the zone has none
}

// An Adaptive is how many requests of a zone may be in flight on this node, and how many are.
type Adaptive struct {
	Limit      int    `json:"limit"`
	InFlight   int    `json:"in_flight"`
	MaxLatency string `json:"max_latency"`
	Min        int    `json:"min"`
	Max        int    `json:"max"`
}

// An EndpointLimits has the limits in force at an endpoint, or in the rest of the zone.
type EndpointLimits struct {
	Endpoint string      `json:"endpoint,omitempty"`
	Tiers    []TierLimit `json:"tiers"`
}

// A TierLimit is a limit in force for a tier, for keys without one, or for requests without a key.
type TierLimit struct {
	Tier      string   `json:"tier,omitempty"`
	Missing   bool     `json:"missing,omitempty"` // for requests without a key
	Limit     string   `json:"limit"`
	Algorithm string   `json:"algorithm,omitempty"` // "" if nobody has set a limit
	From      []Origin `json:"from"`                // the last is in force

	Compared *ComparedLimit `json:"compared,omitempty"` // nil if the limit is not compared
}

// A ComparedLimit is what a limit in force is compared with.
type ComparedLimit struct {
	Limit     string `json:"limit"`
	Algorithm string `json:"algorithm"`
}

// An Origin is a limit that somebody has written for a place of a zone.
type Origin struct {
	Limit      string  `json:"limit,omitempty"`
	Multiplier float64 `json:"multiplier,omitempty"` // of an override

	// Source is FromConfiguration, FromRules or FromOverride.
	Source string `json:"source"`

	// Place is where the limit stands: zone, tier, endpoint, endpoint tier, shared tier, missing key,
	// or key.
	Place string `json:"place"`

	Override string `json:"override,omitempty"` // the ID of the override
}

// Who has written a limit, or what else decides about a key.
const (
	FromConfiguration = "configuration"
	FromRules         = "rules"
	FromOverride      = "override"
)
