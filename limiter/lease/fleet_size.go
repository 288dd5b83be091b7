package lease

import (
	"slices"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A fleetSize is what a node knows of how many nodes its fleet has had: an immutable value, of which the zero one knows nothing. It
// says how many nodes share the credit of a limit.
//
// Its instants are those of the node's clock.
type fleetSize struct {
	since limiter.Instant // when the node began to count
	sizes []fleetSpan
}

// A fleetSpan says how many nodes there were in a span of time. Later spans have fewer nodes: one with fewer than a later one is not
// kept, as the largest size is what counts.
type fleetSpan struct {
	nodes int
	until limiter.Instant // of all but the last, which goes on
}

// With returns f when there are so many nodes from now on.
func (f fleetSize) With(now limiter.Instant, nodes int) fleetSize {
	if len(f.sizes) == 0 {
		return fleetSize{now, []fleetSpan{{nodes: nodes}}}
	}
	sizes := slices.Clone(f.sizes)
	sizes[len(sizes)-1].until = now
	for len(sizes) > 0 && sizes[len(sizes)-1].nodes <= nodes {
		sizes = sizes[:len(sizes)-1]
	}
	return fleetSize{f.since, append(sizes, fleetSpan{nodes: nodes})}
}

// Now returns how many nodes there are; 0 when that is not known.
func (f fleetSize) Now() int {
	if len(f.sizes) == 0 {
		return 0
	}
	return f.sizes[len(f.sizes)-1].nodes
}

// Sharers returns how many nodes share the credit of r at now: the most that there were within the last window. It is 0, and so there
// is no credit, until the node has counted for a whole window.
//
// A node that restarts does not know which keys had its credit before, and while nodes leave one after the other, each has a larger
// part than the last. With this rule, the nodes that have credit within a window are all there at its beginning, and each has at most
// the part that it had there.
func (f fleetSize) Sharers(r *limiter.Rule, now limiter.Instant) int {
	begin := now - limiter.Instant(r.Limit.Window.Microseconds())
	if len(f.sizes) == 0 || f.since > begin {
		return 0
	}
	last := len(f.sizes) - 1
	for _, s := range f.sizes[:last] {
		if s.until > begin {
			return s.nodes
		}
	}
	return f.sizes[last].nodes
}
