package membership

import (
	"slices"
	"time"
)

// A nodeCount is how many nodes count as alive. The zero value knows of none.
type nodeCount struct {
	nodes int

	// While fewer are announced: since when, and the most since then.
	fewerSince time.Time
	fewer      int
}

// update returns c after an announcement at now. announced are the numbers of nodes by each primary
// that answered, and all reports whether all have answered. Every primary hears of every node, so
// the largest number is right.
//
// The number of nodes rises at once. It falls when all primaries have announced fewer for
// expireAfter, to the most of those. Nodes may exist that Redis does not know of for as long:
// because they could not announce themselves, or because Redis came back empty. Without the delay
// the number would be too small just when each node has to do with its part of a limit.
func (c nodeCount) update(now time.Time, announced []int, all bool) nodeCount {
	nodes := slices.Max(append(announced, 0))
	switch {
	case nodes >= c.nodes || !all:
		return nodeCount{nodes: max(nodes, c.nodes)}
	case c.fewerSince.IsZero():
		c.fewerSince = now
	}
	c.fewer = max(c.fewer, nodes)
	if now.Sub(c.fewerSince) >= expireAfter {
		return nodeCount{nodes: c.fewer}
	}
	return c
}
