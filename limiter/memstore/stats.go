package memstore

// Stats are what a zone holds and what happened to it since it was opened.
type Stats struct {
	// Keys is how many keys have a count.
	Keys int

	// Evictions is how many keys were forgotten, with what they had consumed, to make room for others.
	Evictions uint64

	// OverflowTakes is how many takes were decided on an overflow count, as their key found no
	// room.
	OverflowTakes uint64
}

// Stats returns the stats of the zone, all zero when it is closed.
func (z *Zone) Stats() Stats {
	if z.closed.Load() {
		return Stats{}
	}
	return Stats{
		Keys:          int(z.keys.Load()),
		Evictions:     z.evictions.Load(),
		OverflowTakes: z.overflowTakes.Load(),
	}
}
