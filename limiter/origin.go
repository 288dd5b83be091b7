package limiter

// An Origin is where the events of a take came from, in a store that leases: see Take.Origin.
type Origin struct {
	// Leases are the events that were spent from leases, by the instants at which the store granted
	// the leases.
	Leases [2]Events

	// At is when the events were spent, by the clock of that store.
	At Instant

	// Seen is what the store had counted right after it served the take. It is the zero value if the
	// store did not serve the take.
	Seen Events

	// Incarnation is the incarnation of the store that granted or served the events.
	Incarnation uint64

	// Indebted says that the events were debt when the take was decided: the store had not debited
	// them.
	Indebted bool
}
