package api

import "time"

// A HistoryRequest is the body of POST /rate_limit/history. It names a zone, a key, or both.
type HistoryRequest struct {
	Zone string `json:"zone"` // empty: all zones that can have the key
	ShownKeyName
	Limit    int `json:"limit"`    // of events
	Versions int `json:"versions"` // of the rules that are looked at
}

// What a History has.
const (
	DefaultEvents          = 100
	MaxEvents              = 1000
	DefaultHistoryVersions = 200
)

// A History is what has happened to a key or a zone, the newest first.
type History struct {
	Zones []string `json:"zones"`
	ShownKey
	Node  string    `json:"node"`  // that has answered
	Since time.Time `json:"since"` // from when on the node remembers what is in no version

	// OldestVersion is the oldest version of the rules that was looked at. More says that there are older
	// ones, or further events.
	OldestVersion int64  `json:"oldest_version"`
	More          bool   `json:"more"`
	RulesError    string `json:"rules_error,omitempty"` // why there are no versions

	// Missed is how many events the node has left out, as many began in one second.
	Missed uint64 `json:"missed,omitempty"`

	Events []HistoryEvent `json:"events"`
}

// A HistoryEvent is what has happened at an instant, or from then until another one.
type HistoryEvent struct {
	Time  time.Time  `json:"time"`
	Until *time.Time `json:"until,omitempty"` // when it has happened last
	Times int        `json:"times,omitempty"` // in how many windows

	Kind string `json:"kind"`
	Zone string `json:"zone,omitempty"` // empty: it is about all zones
	ShownKey
	Tier string `json:"tier,omitempty"`
	What string `json:"what"`

	// The first request that was rejected.
	ClientIP string `json:"client_ip,omitempty"`
	Method   string `json:"method,omitempty"`
	Path     string `json:"path,omitempty"`

	Author  string `json:"author,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Version int64  `json:"version,omitempty"` // of the rules
	Entry   string `json:"entry,omitempty"`   // its ID
	Node    string `json:"node,omitempty"`    // that has seen it; empty: it is about all nodes
}

// Kinds of events, besides those of package journal. Those of entries and of the emergency end with what
// was done: override_made, tier_changed, access_ended, emergency_expired.
const (
	LimitChanged = "limit_changed"
	Reloaded     = "reload"
)
