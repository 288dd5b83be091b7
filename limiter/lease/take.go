package lease

import (
	"context"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// roomFor is how many takes are decided together without an allocation.
const roomFor = 8

// Take implements [limiter.Store]. now is an instant of Options.Clock. Where accounts can decide, it waits for nothing but
// locks, and does not allocate for up to 8 takes.
//
// Take looks at the accounts first. Then it asks the lender for what they lack, all keys at the same
// time. Keys under strict rules come after that, and takes that have no account come last. A key that
// the lender denied last is asked for alone, before anything is taken from the others. So a client
// that is denied again and again takes nothing from the keys that it shares. If a take is denied, or
// if nobody waits for the answer any more, Take returns what the others have got. A take that fails
// does not change the decisions of the others.
func (s *Store) Take(ctx context.Context, now limiter.Instant, takes []limiter.Take) error {
	for i := range takes {
		takes[i].Err = nil
	}
	if len(takes) == 1 {
		t := takeState{alone: true}
		if s.decide(&t, &takes[0], now, false); t.state == leased || t.state == denied {
			if t.low {
				s.refill(&takes[0], now)
			}
			return nil
		}
	}
	var room [roomFor]takeState
	r := request{began: now, now: now, takes: takes, seats: room[:]}
	if len(takes) > roomFor {
		r.seats = make([]takeState, len(takes))
	}
	r.seats = r.seats[:len(takes)]
	if !s.decideAll(&r) {
		s.ask(ctx, &r)
		if r.any(denied) || r.any(failed) && ctx.Err() != nil {
			s.undoAll(&r)
		}
	}
	for i := range r.seats {
		if r.seats[i].low {
			s.refill(&takes[i], r.now)
		}
	}
	return limiter.FirstError(takes)
}

// A request is takes that are decided as one.
type request struct {
	began limiter.Instant
	now   limiter.Instant // later, once it has waited
	takes []limiter.Take
	seats []takeState // one for each
}

// any reports whether one of the takes stands so.
func (r *request) any(want state) bool {
	for i := range r.seats {
		if r.seats[i].state == want {
			return true
		}
	}
	return false
}

// decideAll decides what the accounts can of what is undecided, and reports whether all is admitted by that. From a take on that is
// denied, or was denied last, nothing is spent, and what was is given back.
func (s *Store) decideAll(r *request) (admitted bool) {
	admitted, stopped := true, false
	for i := range r.takes {
		t, k := &r.seats[i], &r.takes[i]
		if t.state != undecided {
			continue
		}
		s.decide(t, k, r.now, stopped)
		if !stopped && (t.state == denied || t.askAlone()) {
			stopped = true
			s.release(r)
		}
		admitted = admitted && t.state == leased
	}
	return admitted
}

// ask asks the lender for all that is undecided, unless something is denied before.
func (s *Store) ask(ctx context.Context, r *request) {
	for !r.any(denied) && r.askForDeniedLast() {
		s.borrow(ctx, r)
		if !r.any(denied) {
			s.decideAll(r)
		}
	}
	for _, strict := range []bool{false, true} {
		if !r.any(denied) && r.askFor(strict) {
			s.borrow(ctx, r)
		}
	}
	if !r.any(denied) && r.any(delegated) {
		s.pass(ctx, r)
	}
}

// askForDeniedLast has the take asked for alone that the lender denied last, and reports whether there is one. Of several it is the
// one with the latest retry instant, which will most probably be denied again. No take is asked for alone twice.
func (r *request) askForDeniedLast() bool {
	var latest *takeState
	for i := range r.seats {
		t := &r.seats[i]
		t.asks = false
		if t.state == undecided && t.askAlone() && (latest == nil || t.denial > latest.denial) {
			latest = t
		}
	}
	if latest == nil {
		return false
	}
	latest.asks, latest.askedAlone = true, true
	return true
}

// askFor has the undecided takes asked for that are under strict rules, or those that are not, and reports whether there are any.
func (r *request) askFor(strict bool) (some bool) {
	for i := range r.seats {
		t := &r.seats[i]
		t.asks = t.state == undecided && r.takes[i].Rule.Strict == strict
		some = some || t.asks
	}
	return some
}

// timeLeft returns for how long the request may still wait.
func (s *Store) timeLeft(r *request) time.Duration {
	return s.options.Timeout - time.Duration(r.now-r.began)*time.Microsecond
}

// pass has the lender decide what is left to it, for no longer than a request waits in all.
func (s *Store) pass(ctx context.Context, r *request) {
	began := time.Now()
	within, cancel := context.WithTimeout(ctx, s.timeLeft(r))
	defer cancel()
	var some []int
	for i := range r.seats {
		if r.seats[i].state == delegated {
			some = append(some, i)
		}
	}
	asked := pick(r.takes, some)
	s.stats.passed.Add(1)
	_ = s.lender.Take(within, r.now, asked) // each take has its error
	r.now = s.options.Clock()
	for i, j := range some {
		k := &r.takes[j]
		k.Decision, k.Err = asked[i].Decision, asked[i].Err
		if k.Err != nil && within.Err() != nil && ctx.Err() == nil {
			k.Err = ErrTimeout
		}
		if k.Err != nil && s.busy(k, k.Err, time.Since(began)) {
			s.takeWithoutAccount(k, r.now)
		}
		switch t := &r.seats[j]; {
		case k.Err != nil:
			t.state = failed
		case k.Decision.OK:
			t.state = decided
		default:
			t.state = denied
		}
	}
}

// pick returns the takes at these places.
func pick(takes []limiter.Take, places []int) []limiter.Take {
	picked := make([]limiter.Take, len(places))
	for i, j := range places {
		picked[i] = takes[j]
	}
	return picked
}
