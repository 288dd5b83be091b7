package limiter

// An Origin is where the events of a take came from, in a store that leases: see Take.Origin.
type Origin struct {
	// Leases are the events that were spent of leases, which the store granted at these instants.
	Leases [2]Events

	// At is when they were spent, by the clock of that store.
	At Instant

	// Seen is what the store had counted right after it served the take, if it did.
	Seen Events

	// Incarnation is that of the store from which the events are.
	Incarnation uint64

	// Indebted says that the events were debt when the take was decided: the store had not debited
	// them.
	Indebted bool
}
