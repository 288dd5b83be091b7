package membership

import "time"

// A nodeCount is how many nodes are believed to be alive. The zero value has not heard of any.
type nodeCount struct {
	nodes int

	// While fewer were heard of: since when, and the most since then.
	fewerSince time.Time
	fewer      int
}

// count returns c after an announcement at now, given the number of nodes that each of the primaries that answered has heard
// of. All of them hear of every node, so the largest number is right.
//
// The number grows at once, and falls only when fewer were heard of in all announcements of a Silence, and by all primaries: to the
// most of those. For as long, nodes may be there that Redis does not know of: as they could not announce themselves, or as it
// came back empty and they have not announced themselves again. The number would be too small just when each node has to make do
// with its part of a limit.
func (c nodeCount) count(now time.Time, heard []int, all bool) nodeCount {
	nodes := 0
	for _, n := range heard {
		nodes = max(nodes, n)
	}
	switch {
	case nodes >= c.nodes || !all:
		return nodeCount{nodes: max(nodes, c.nodes)}
	case c.fewerSince.IsZero():
		c.fewerSince = now
	}
	c.fewer = max(c.fewer, nodes)
	if now.Sub(c.fewerSince) >= ExpireAfter {
		return nodeCount{nodes: c.fewer}
	}
	return c
}

// paused returns c after a time without announcements, which says nothing about other nodes.
func (c nodeCount) paused() nodeCount { return nodeCount{nodes: c.nodes} }
