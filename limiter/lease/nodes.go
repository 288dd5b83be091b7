package lease

import (
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A fleet is how many nodes there were since the store's clock last skipped time. During the
// skipped time, others did not count this node.
type fleet struct {
	size    fleetSize
	skipped time.Duration
}

// countNodes updates the number of nodes.
func (s *Store) countNodes(now instant) {
	f := *s.fleet.Load()
	if skipped := s.clock.skipped(); skipped != f.skipped {
		f = fleet{skipped: skipped}
	}
	if n := s.options.Nodes(); n != f.size.now() {
		f.size = f.size.with(now, n)
		s.fleet.Store(&f)
	}
}

// creditSharers returns how many nodes share the credit of the accounts of z under r. It is 0, so
// there is no credit, while other nodes may not count this one, and for a window after this node
// has started, was suspended, or has removed an account that may have had credit.
func (s *Store) creditSharers(z *Zone, r *limiter.Rule, now instant) int {
	f, removedAt := s.fleet.Load(), instant(z.removedAt.Load())
	if !s.options.Settled() || f.skipped != s.clock.skipped() || now.since(removedAt) < r.Limit.Window.Microseconds() {
		return 0
	}
	return f.size.sharers(r, now)
}

// A fleetSize is how many nodes a fleet has had, as far as a node knows. It is an immutable value.
// The zero value knows nothing.
type fleetSize struct {
	since instant // when the node began to count
	spans []fleetSpan
}

// A fleetSpan is a span of time with a number of nodes. Each span has fewer nodes than the one
// before it: a span with fewer nodes than a later one is dropped, as the largest size counts.
type fleetSpan struct {
	nodes int
	until instant // of all but the last, which goes on
}

// with returns f with another number of nodes from now on.
func (f fleetSize) with(now instant, nodes int) fleetSize {
	if len(f.spans) == 0 {
		return fleetSize{now, []fleetSpan{{nodes: nodes}}}
	}
	spans := slices.Clone(f.spans)
	spans[len(spans)-1].until = now
	for len(spans) > 0 && spans[len(spans)-1].nodes <= nodes {
		spans = spans[:len(spans)-1]
	}
	return fleetSize{f.since, append(spans, fleetSpan{nodes: nodes})}
}

// now returns how many nodes there are; 0 when that is not known.
func (f fleetSize) now() int {
	if len(f.spans) == 0 {
		return 0
	}
	return f.spans[len(f.spans)-1].nodes
}

// sharers returns how many nodes share the credit of r at now: the most that there were within the
// last window. It is 0 until the node has counted for a whole window.
//
// A node that restarts does not know which keys had its credit before, and while nodes leave one
// after the other, the share of each grows. With this rule, all nodes that have credit within a
// window were there when it began, and none has more than its share at that time.
func (f fleetSize) sharers(r *limiter.Rule, now instant) int {
	begin := now.plus(-r.Limit.Window.Microseconds())
	if len(f.spans) == 0 || f.since > begin {
		return 0
	}
	last := len(f.spans) - 1
	for _, s := range f.spans[:last] {
		if s.until > begin {
			return s.nodes
		}
	}
	return f.spans[last].nodes
}
