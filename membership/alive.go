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
// ExpireAfter, to the most of those. Nodes may exist that Redis does not know of for as long:
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
	if now.Sub(c.fewerSince) >= ExpireAfter {
		return nodeCount{nodes: c.fewer}
	}
	return c
}

// A liveness is how long the other nodes have known of this one. The zero value is that of a node
// that has not announced itself. Invariant: since <= last, and no gap between the announcements
// from since to last is as long as ExpireAfter.
type liveness struct {
	since time.Time // of the first announcement after which the others always counted this node
	last  time.Time // of the latest announcement
}

// announced returns l after an announcement at now that Redis received.
func (l liveness) announced(now time.Time) liveness {
	if l.last.IsZero() || now.Sub(l.last) >= ExpireAfter {
		l.since = now
	}
	l.last = now
	return l
}

// settled reports whether every other node counts this one, and will until the next announcement,
// an Interval after now. All of them count it two intervals after its first announcement.
func (l liveness) settled(now time.Time) bool {
	return !l.last.IsZero() && now.Sub(l.since) >= 2*Interval && now.Sub(l.last)+Interval < ExpireAfter
}
