// Package rules is the model of what operators change while traffic runs: limits of zones,
// overrides of keys, assignments of keys to tiers, access lists and emergency mode.
//
// All of it is one [Document]. Each change makes a new [Version] of it, which a [VersionStore]
// keeps. A document holds texts as the Caddyfile spells them, such as "100/1m burst 20". The
// package knows nothing of how limits are enforced.
package rules

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/text/strictjson"
)

// A Document is the rules in force beside the configuration. The zero Document changes nothing.
type Document struct {
	// Zones replaces limits of the configuration, by the name of the zone.
	Zones map[string]*ZoneChange `json:"zones,omitempty"`

	// Overrides replaces limits of single keys. They come before everything else.
	Overrides []*Override `json:"overrides,omitempty"`

	// Tiers gives keys tiers. They come before the zone's own ways to find a tier.
	Tiers []*TierAssignment `json:"tiers,omitempty"`

	// Access admits or forbids keys and addresses.
	Access []*AccessEntry `json:"access,omitempty"`

	// Emergency limits each client address on all nodes. It is nil if emergency mode is off.
	Emergency *Emergency `json:"emergency,omitempty"`
}

// Unmarshal decodes a text from a store if the text is within the bounds of what may be written. So
// the result takes no more memory than that, whoever has written the text.
func Unmarshal(text []byte, v any) error {
	if err := strictjson.CheckBounds(text); err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}

// Clone returns a copy of d, which shares the zones, the entries and the emergency of d. To change
// one of these, replace it. The copy of nil is an empty document.
func (d *Document) Clone() *Document {
	if d == nil {
		return new(Document)
	}
	return &Document{
		Zones: maps.Clone(d.Zones), Overrides: slices.Clone(d.Overrides), Tiers: slices.Clone(d.Tiers),
		Access: slices.Clone(d.Access), Emergency: d.Emergency,
	}
}

// Empty reports whether d changes nothing.
func (d *Document) Empty() bool { return d.Entries() == 0 && d.Emergency == nil }

// Entries returns how many entries and zones d has.
func (d *Document) Entries() int {
	return len(d.Zones) + len(d.Overrides) + len(d.Tiers) + len(d.Access)
}

// A ZoneChange replaces limits of a zone of the configuration. Where a field is empty, the
// configuration stays in force.
type ZoneChange struct {
	// Limit of keys without a tier.
	Limit string `json:"limit,omitempty"`

	// Tiers has the limits of tiers by name.
	Tiers map[string]string `json:"tiers,omitempty"`

	// Endpoints has the limits of endpoints, by their method and path as configured:
	// "POST /v1/search*".
	Endpoints map[string]*Endpoint `json:"endpoints,omitempty"`

	// DryRun is the percentage of keys that the zone never rejects, such as "100%". "0%" ends a dry
	// run of the configuration.
	DryRun string `json:"dry_run,omitempty"`

	// Compare replaces the whole comparison of the configuration. If it is nil, that comparison stays
	// in force.
	Compare *Comparison `json:"compare,omitempty"`
}

// A Comparison is a limit and an algorithm by which a zone decides requests a second time, to count
// how often the two decisions differ.
type Comparison struct {
	// Keys is the percentage of keys, such as "10%". If it is empty, all keys are compared. "0%" ends
	// the comparison.
	Keys string `json:"keys,omitempty"`

	Limit     string `json:"limit,omitempty"`     // in place of the limit of the zone
	Algorithm string `json:"algorithm,omitempty"` // such as "sliding_window 6"
}

// An Endpoint replaces limits of an endpoint.
type Endpoint struct {
	Limit string            `json:"limit,omitempty"`
	Tiers map[string]string `json:"tiers,omitempty"`
}

// A Key names a key of a zone, whose count an entry is about. Text is what the key template of the
// zone expands to, and what logs show with log_key. Missing says that on_missing_key has made the
// key.
type Key struct {
	Zone string `json:"zone"`
	// At most one of Text and Base64 is set. Base64 is for keys that are not valid UTF-8.
	Text    string `json:"key,omitempty"`
	Base64  string `json:"key_base64,omitempty"`
	Missing bool   `json:"missing,omitempty"`
}

// An Entry has what the entries of all lists have in common.
type Entry struct {
	// ID is unique among the entries of a document.
	ID        string     `json:"id"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"` // nil if it never expires
	Reason    string     `json:"reason,omitempty"`
	CreatedAt time.Time  `json:"created_at,omitzero"`
	CreatedBy string     `json:"created_by,omitempty"`
}

// An Override changes the limits of a key. At most one of Limit and Multiplier is set. Concurrent
// may be set beside or in place of them.
type Override struct {
	Entry
	Key

	// Endpoint is the only endpoint that the override is for. If it is empty, the override is for the
	// whole zone.
	Endpoint string `json:"endpoint,omitempty"`

	// Limit replaces the limit of the key, such as "5000/1m".
	Limit string `json:"limit,omitempty"`

	// Multiplier multiplies the events and the burst of the limit that the key would have.
	Multiplier float64 `json:"multiplier,omitempty"`

	// Concurrent is how many requests of the key may be in flight at once.
	Concurrent int `json:"concurrent,omitempty"`
}

// A TierAssignment gives a key a tier of its zone.
type TierAssignment struct {
	Entry
	Key
	Tier string `json:"tier"`
}

// The values of AccessEntry.Action.
const (
	Allow = "allow" // requests pass the zone, or all limits
	Deny  = "deny"  // requests get 403
)

// An AccessEntry admits or forbids either a key of a zone, or the client addresses of a prefix.
type AccessEntry struct {
	Entry
	Action string `json:"action"`

	// Address is an address or a prefix, such as "192.0.2.0/24". If it is set, there is no key.
	Address string `json:"address,omitempty"`
	*Key
}

// An Emergency is a hard limit of each client address, such as "10/1s".
type Emergency struct {
	Limit     string     `json:"limit"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	Reason    string     `json:"reason,omitempty"`
	StartedBy string     `json:"started_by,omitempty"` // set by the server
}
