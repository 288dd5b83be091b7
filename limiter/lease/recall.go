package lease

import (
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A lender that runs short of events recalls the parts of a bucket: it tells all nodes to return
// what they hold. The takes that it has denied meanwhile ask once more, after askAgainAfter. By
// then the parts are back.

// askAgainAfter is how long takes wait before they ask again.
const askAgainAfter = time.Millisecond

// Recall returns in the background what this node holds of the recalled bucket. If a request of the
// account is under way, or if the lender has answered one since the recall, Recall does nothing.
func (s *Store) Recall(r limiter.Recall) {
	for _, z := range s.openZones() {
		s.send(z.recall(r))
	}
}

// recall returns the call that returns what the zone holds of a bucket, or nil if it holds nothing,
// if the recall is no news or a request is under way, or if the background is full.
func (z *Accounts) recall(by limiter.Recall) (c *call) {
	var l location
	l.locate(z, by.Rule, by.Key)
	l.withAccount(func(a account) {
		r, now := z.rules.ruleFor(by.Rule, a), z.store.now()
		if z.dropPassed(a, r, now); !a.requesting && a.seenAt < by.At && a.holdsParts() {
			c, _ = z.store.beginLocked(&l, a, r, now, maxBackground, toReturn)
		}
	})
	return c
}

// asksAgain reports whether the takes that the reply l denies are to ask the lender once more. They
// are not if one of them has done so before. sent are the waiters of the request.
func asksAgain(sent []*waiter, l *limiter.LeaseRequest) bool {
	waits := func(w *waiter) bool { return w.status == waiting }
	hasAsked := func(w *waiter) bool { return waits(w) && w.asksAgain }
	return l.AsksAgain() && slices.ContainsFunc(sent, waits) && !slices.ContainsFunc(sent, hasAsked)
}

// askAgain sends a request for the takes of t that the lender has denied, and for those that have
// come since.
func (s *Store) askAgain(t *target) {
	now := s.now()
	t.shard.Lock()
	a, _ := t.findLocked() // it stays, as it is requesting
	r, q := t.zone.rules.ruleFor(t.key.ID, a), t.queue
	q.pausing = false
	a.requesting = q.busy()
	q.decideWaiting(a, r, now)
	next := t.nextCallLocked(a, r, now)
	t.shard.Unlock()
	s.send(next)
}
