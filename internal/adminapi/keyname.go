package adminapi

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
