package rules

// A Schema is what documents can refer to in the configuration of a node.
type Schema interface {
	// Zones returns the names of the zones, sorted.
	Zones() []string

	// Tiers returns the names of the tiers of a zone, sorted.
	Tiers(zone string) []string

	// Endpoints returns the endpoints of a zone in the order of the configuration, each as its
	// methods and its path: "POST /v1/search*", or "/v1/search*" for all methods.
	Endpoints(zone string) []string

	// Limit returns an error unless text is a limit that a zone can have at a place. endpoint and tier
	// are "" outside of endpoints and tiers. The zone, the endpoint and the tier exist.
	Limit(zone, endpoint, tier, text string) error

	// Overrides returns a function that checks overrides in a zone. The function returns an error
	// unless the zone can have the limit of the override, or the limits that its multiplier results
	// in. The zone and the endpoint exist. changes are what the document changes in the zone, or nil.
	// The function remembers its results, so it is quick for overrides that differ only in their keys.
	Overrides(zone string, changes *ZoneChange) func(*Override) error

	// EmergencyLimit returns an error unless text is a limit for each client address.
	EmergencyLimit(text string) error

	// DryRun returns an error unless text is a percentage of keys, such as "10%".
	DryRun(text string) error

	// Compare returns an error unless a zone, which exists, can have the comparison with.
	Compare(zone string, with *Comparison) error

	// Key returns an error unless requests can have the key, whose zone exists. shared reports that
	// all requests of the zone have the key. Only a shared key may have no text.
	Key(key Key) (shared bool, err error)

	// Canonical returns a key in the form in which requests have it. It returns a key that no request
	// can have unchanged.
	Canonical(key Key) Key
}
