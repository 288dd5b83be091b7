package lease

import (
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A fleet is how many nodes there were since the store's clock has skipped time. In that, others did not count this node.
type fleet struct {
	size    limiter.FleetSize
	skipped time.Duration
}

// countNodes notes how many nodes there are.
func (s *Store) countNodes(now limiter.Instant) {
	f := *s.fleet.Load()
	if skipped := s.clock.skipped(); skipped != f.skipped {
		f = fleet{skipped: skipped}
	}
	if n := s.options.Nodes(); n != f.size.Now() {
		f.size = f.size.With(now, n)
		s.fleet.Store(&f)
	}
}

// sharers returns how many nodes share the credit that accounts of b have under r, and 0 when they have none: while other nodes may
// not count this one; and for a window after this one has started or was suspended, or has forgotten an account, as that may have
// had credit.
func (s *Store) sharers(b *Zone, r *limiter.Rule, now limiter.Instant) int {
	f := s.fleet.Load()
	if !s.options.Settled() || f.skipped != s.clock.skipped() || int64(now)-b.forgot.Load() < r.Limit.Window.Microseconds() {
		return 0
	}
	return f.size.Sharers(r, now)
}
