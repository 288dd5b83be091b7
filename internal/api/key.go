package api

import "github.com/fleetlimit/fleetlimit/rules"

// A KeyName is how the body of a request names a key of a zone, so that the key is in no log of
// paths.
type KeyName struct {
	Key     string `json:"key"`
	Base64  string `json:"key_base64"`
	Missing bool   `json:"missing"`
}

// In returns the key in a zone.
func (n *KeyName) In(zone string) rules.Key {
	return rules.Key{Zone: zone, Text: n.Key, Base64: n.Base64, Missing: n.Missing}
}

// A ShownKeyName may also name a key in the ways in which logs and lists show it.
type ShownKeyName struct {
	KeyName
	Stored string `json:"key_stored"`
	Hash   string `json:"key_hash"`
}

// IsSet reports whether n names a key.
func (n *ShownKeyName) IsSet() bool { return *n != ShownKeyName{} }

// A KnownKey is a key that a node has found by its hash.
type KnownKey struct {
	Shown  ShownKey  // as operators may see it
	Stored string    // the key as the store has it, in base64
	Name   rules.Key // by which rules can name it; without a text, there is no such name
}

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
