package membership

import (
	"slices"
	"time"
)

// A nodeCount has the number of nodes that count as alive. The zero value has no nodes.
type nodeCount struct {
	nodes int

	// While the primaries announce fewer than nodes, these are the instant at which they began to, and
	// the highest number announced since then.
	fewerSince time.Time
	fewer      int
}

// update returns c after an announcement at now. announced has the number of nodes that each answering
// primary knows. all reports whether all primaries have answered. Each node announces itself to every
// primary, so the highest number is right.
//
// The number of nodes rises at once. It falls when all primaries have announced fewer nodes for
// expireAfter, and then to the highest number that they announced in that time. In that time, Redis may
// not know some nodes: they could not announce themselves, or Redis came back empty. If the number fell
// at once, it would be too low during an outage of Redis, which is when nodes use it to divide limits.
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
