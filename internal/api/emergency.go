package api

import "time"

// EmergencyZone is what responses, logs and metrics call the limit of emergency mode. No zone can
// have this name.
const EmergencyZone = "(emergency)"

// What emergency mode is if the request does not say.
const (
	DefaultEmergency = "10/1s" // for each address
	DefaultExpiresIn = "15m"
)

// An Emergency describes whether emergency mode is on.
type Emergency struct {
	Active    bool       `json:"active"`
	Limit     string     `json:"limit,omitempty"`
	Reason    string     `json:"reason,omitempty"`
	StartedBy string     `json:"started_by,omitempty"`
	StartedAt *time.Time `json:"started_at,omitempty"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	AllNodes  bool       `json:"all_nodes,omitempty"`
}
