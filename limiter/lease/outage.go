package lease

import (
	"context"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// takeInOutage decides the takes that have failed, unless another one is denied or nobody waits any
// more. It comes last: a denial that all nodes agree on is worth more.
func (s *Store) takeInOutage(ctx context.Context, r *request) {
	for i := range r.takes {
		if t := &r.takes[i]; t.state == failed && ctx.Err() == nil && !r.any(denied) {
			s.takeFailed(t, r.now)
		}
	}
}

// takeFailed decides a take that has failed: by its account, or with all others that have none.
func (s *Store) takeFailed(t *takeState, now limiter.Instant) {
	decide := func(a account) {
		retry := now + limiter.Instant(s.options.ProbeEvery.Microseconds())
		a.takeInOutage(t.Rule, now, t.Cost, s.options.OutageNodes(), retry, &t.Decision)
	}
	if t.zone == nil || !t.withAccount(decide) {
		z, _ := t.Rule.Zone.(*Zone) // which may be closed
		if z == nil {
			z = new(Zone)
		}
		z.crowd.decide(t.Rule, decide)
	}
	if t.state = admitted; !t.Decision.OK {
		t.state = denied
	}
}
