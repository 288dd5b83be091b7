package lease

import (
	"errors"
	"sync"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

const (
	// silenceTimes is how many times as long as a take has waited a lender must have been silent for an outage. A take waits for
	// longer than its timeout on a node that is busy, and then answers are read late as well.
	silenceTimes = 3

	// leastSilence is how long that is at least: a node with thousands of connections and few processors may come to read an answer
	// only after a second.
	leastSilence = 2 * time.Second
)

// busy reports whether a take that has waited for so long got no answer, for this reason, only because too much waits for the
// lender: an outage is something else.
func (s *Store) busy(k *limiter.Take, reason error, waited time.Duration) bool {
	if reason != ErrTimeout && !errors.Is(reason, limiter.ErrLate) {
		return false
	}
	return s.lender.Answers(k.Key, max(silenceTimes*waited, leastSilence))
}

// takeLate decides k by what its account knows. If k is admitted, its waiter stays in the queue, so that the lender hears of it;
// else nobody waits for that any longer. The shard is locked.
func (s *Store) takeLate(p *location, t *takeState, k *limiter.Take, now limiter.Instant) {
	a, ok := p.account()
	if !ok { // closed meanwhile
		t.state, k.Err = failed, ErrTimeout
		return
	}
	w := t.waiter
	a.TakeLate(k.Rule, now, k.Cost, &k.Decision)
	switch {
	case k.Decision.OK:
		t.state = late
		if !w.answered {
			w.late = true
			p.queue().late += k.Cost
		}
	default:
		t.state = denied
		if !w.answered {
			p.queue().giveUp(w)
		}
	}
}

// undoLate gives back what k got before it was answered. If it is answered by now, that is what it got.
func (s *Store) undoLate(p *location, t *takeState, k *limiter.Take, a limiter.Account, r *limiter.Rule, now limiter.Instant) (back *leaseRequest) {
	w := t.waiter
	switch {
	case !w.answered:
		p.queue().giveUp(w)
		a.Withhold(-k.Cost)
	case w.err != nil:
		a.Withhold(-k.Cost)
	case w.served:
		back = p.unserve(a, r, w, now)
	case w.decision.OK:
		back = s.unspend(p, a, r, w.spent, now)
	}
	return back
}

// A crowd is the keys without an account, which found no room. It has one account for each rule. If
// the lender has too much to do to answer in time, all keys of the crowd together are admitted at most
// the limit, per node and window.
type crowd struct {
	mu       sync.Mutex
	accounts map[uint32]limiter.Account // by rule ID
}

// takeLate decides k by what was admitted to the crowd.
func (c *crowd) takeLate(k *limiter.Take, now limiter.Instant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, found := c.accounts[k.Rule.ID]
	if !found {
		if c.accounts == nil {
			c.accounts = make(map[uint32]limiter.Account)
		}
		a = limiter.Account{Hot: new(limiter.Hot), Cold: new(limiter.Cold)}
		c.accounts[k.Rule.ID] = a
	}
	a.TakeLate(k.Rule, now, k.Cost, &k.Decision)
}

// takeWithoutAccount decides k, which has no account, if its zone is open.
func (s *Store) takeWithoutAccount(k *limiter.Take, now limiter.Instant) {
	if b := s.bookOf(k.Rule); b != nil {
		k.Err = nil
		b.crowd.takeLate(k, now)
	}
}
