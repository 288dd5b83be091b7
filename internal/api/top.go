package api

// A Top lists the keys that use a zone most, the greatest use first.
type Top struct {
	Zone  string    `json:"zone"`
	Node  string    `json:"node"`            // that has answered
	Fleet *TopFleet `json:"fleet,omitempty"` // nil if it is the view of that node alone
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
	Endpoint string // "" for all of the zone
	By       string
	Most     int
	Fleet    bool // all nodes
}
