package api

import "time"

// A TryRequest is the body of POST /rate_limit/zones/{zone}/try.
type TryRequest struct {
	Limit    string `json:"limit"` // such as 60/1m; empty: only limits around the one in force
	Endpoint string `json:"endpoint"`
	Tier     string `json:"tier"`
}

// A Trial says what limits would have done to the requests of the last hour: those of a sample of keys,
// on one node, since decisions are remembered.
type Trial struct {
	Zone     string `json:"zone"`
	Endpoint string `json:"endpoint,omitempty"`
	Tier     string `json:"tier,omitempty"`
	Node     string `json:"node"`  // that has answered, and whose requests these are
	Nodes    int    `json:"nodes"` // that share the limit

	// Since is from when on decisions are remembered: from the first question on, for an hour after the
	// last one. KeysPart is the part of the keys that is in the sample.
	Since    time.Time `json:"since"`
	KeysPart float64   `json:"keys_part"`

	Requests  int64  `json:"requests"`
	Keys      int    `json:"keys"`
	Algorithm string `json:"algorithm"`

	// Limits are tried in ascending order. Recommended is the least limit that rejects at most 0.1 % of
	// the keys, or one of fewer than 1000, rounded up to two digits.
	Limits      []TriedLimit `json:"limits"`
	Recommended string       `json:"recommended,omitempty"`
}

// A TriedLimit is what a limit would have done.
type TriedLimit struct {
	Limit            string  `json:"limit"`
	InForce          bool    `json:"in_force,omitempty"`
	Tried            bool    `json:"tried,omitempty"` // it is that of the request
	RequestsRejected int64   `json:"requests_rejected"`
	RequestsPart     float64 `json:"requests_part"`
	KeysRejected     int     `json:"keys_rejected"`
	KeysPart         float64 `json:"keys_part"`
}
