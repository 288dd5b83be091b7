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

	// Overrides returns a function that returns an error unless an override has an effect: its limit,
	// or its multiplier of the limits that it changes, is one that the zone can have. The zone and the
	// endpoint exist, and changes, which may be nil, are the limits of the document for the zone. The
	// function remembers its results, so overrides that differ only in their keys are quick.
	Overrides(zone string, changes *ZoneChange) func(*Override) error

	// EmergencyLimit returns an error unless text is a limit for each client address.
	EmergencyLimit(text string) error

	// DryRun returns an error unless text is a percentage of keys, such as "10%".
	DryRun(text string) error

	// Compare returns an error unless a zone, which exists, can be compared so.
	Compare(zone string, with *Comparison) error

	// Key returns an error unless requests can have the key, whose zone exists. shared reports that
	// all requests of the zone have it. Only such a key may be without a text.
	Key(key Key) (shared bool, err error)

	// Canonical returns the key as requests have it, whose count a key is about. A key that no request
	// has stays as it is.
	Canonical(key Key) Key
}
