package fleet

import "time"

// A census is how many nodes are believed to be alive. The zero value has not heard of any.
type census struct {
	nodes   int
	doubted time.Time // when it was heard last that some of Redis does not answer
}

// count returns c after an announcement at now, given the number of nodes that each of the primaries that answered has heard
// of. All of them hear of every node, so the largest number is right.
//
// While not all answer, and for a Silence after, nodes may be there that could not announce themselves: then the number does
// not fall. It would be too small just when each node has to make do with its part of a limit.
func (c census) count(now time.Time, heard []int, all bool) census {
	nodes := 0
	for _, n := range heard {
		nodes = max(nodes, n)
	}
	if !all {
		c.doubted = now
	}
	if nodes > c.nodes || nodes > 0 && (c.doubted.IsZero() || now.Sub(c.doubted) >= Silence) {
		c.nodes = nodes
	}
	return c
}
