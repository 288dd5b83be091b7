package leasestore

import "github.com/fleetlimit/fleetlimit/limiter"

// countNodes notes how many nodes there are.
func (s *Store) countNodes(now limiter.Instant) {
	if n, f := s.options.Nodes(), s.fleet.Load(); n != f.Now() {
		f := f.With(now, n)
		s.fleet.Store(&f)
	}
}

// sharers returns how many nodes share the credit that accounts of b have under r, and 0 when they have none: while other nodes may
// not count this one, and for a window after this one has started or forgotten an account, as it may have forgotten credit then.
func (s *Store) sharers(b *book, r *limiter.Rule, now limiter.Instant) int {
	if !s.options.Settled() || int64(now)-b.forgot.Load() < r.Limit.Window.Microseconds() {
		return 0
	}
	return s.fleet.Load().Sharers(r, now)
}
