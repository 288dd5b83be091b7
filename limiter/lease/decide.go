package lease

import "github.com/fleetlimit/fleetlimit/limiter"

// A takeState is where one take of a request stands.
type takeState struct {
	state      state
	alone      bool            // there is no other take that could be denied, so nothing is undone
	asks       bool            // is to be asked for next, if it is undecided
	askedAlone bool            // because of denial
	low        bool            // its account should ask the lender in the background
	denial     limiter.Instant // undecided, but the lender denied the last such take, until then; 0: it did not
	spent      spentEvents     // by a take from leases
	waiter     *waiter         // nil: it has not had to wait
}

// askAlone reports whether the take is to be asked for alone, before anything is taken from the others.
func (t *takeState) askAlone() bool { return t.denial != 0 && !t.askedAlone }

type state uint8

const (
	undecided state = iota
	delegated       // left to the lender, as no account decides it
	decided         // by the lender, after it was left to it; not denied
	leased          // spent from a lease
	credited        // spent on credit
	served          // by the lender, after waiting
	late            // admitted by what is known, as the lender has not answered in time
	denied
	failed // nobody could decide it
)

// decide decides k, whose seat is t, from its account alone, if there is one that can. When only denials are looked for, nothing is
// spent.
func (s *Store) decide(t *takeState, k *limiter.Take, now limiter.Instant, denials bool) {
	var p location
	if !s.find(&p, k) {
		t.state = delegated
		return
	}
	p.shard.mu.Lock()
	if a, ok := p.account(); ok {
		switch {
		case !denials:
			s.spend(t, k, a, now, 0)
		case a.Peek(k.Rule, now, k.Cost, &k.Decision) && !k.Decision.OK:
			t.state = denied
		}
		if t.state == undecided {
			t.denial = a.DeniedUntil(k.Rule, k.Cost)
		}
	}
	p.shard.mu.Unlock()
}

// spend decides k from a, if that can; for credit there are so many nodes. The shard is locked.
func (s *Store) spend(t *takeState, k *limiter.Take, a account, now limiter.Instant, nodes int) {
	d, left := &k.Decision, a.Left()
	switch {
	case !a.Take(k.Rule, now, k.Cost, nodes, d):
		return
	case !d.OK:
		t.state = denied
		return
	case d.Source == limiter.FromCredit:
		t.state = credited
	default:
		t.state = leased
		if !t.alone {
			t.spent = a.SpentSince(left)
		}
	}
	t.low = a.NeedsRefill(k.Rule, now)
}

// refill has the account of k ask the lender in the background, if it is still low and does not rest. This comes after the
// request is decided: what a denial elsewhere gives back to a lease is not asked for once more. When there is no room for its
// flight, the wheel comes to what is owed; who only wants more is still low at the next take.
func (s *Store) refill(k *limiter.Take, now limiter.Instant) {
	var p location
	if !s.find(&p, k) {
		return
	}
	var f *leaseRequest
	p.shard.mu.Lock()
	if a, ok := p.account(); ok && a.NeedsRefill(k.Rule, now) && !p.shard.backingOff(p.key.Hash) {
		var late bool
		_, owed := a.Outstanding()
		if f, late = s.begin(&p, a, k.Rule, now, maxRefills, true); late && owed > 0 {
			s.later(&p, now)
		}
	}
	p.shard.mu.Unlock()
	s.send(f)
}

// peek decides k from its account and spends nothing. It reports whether there is one that knows enough: under a strict rule, that k
// is denied.
func (s *Store) peek(k *limiter.Take, now limiter.Instant) bool {
	var p location
	if !s.find(&p, k) {
		return false
	}
	p.shard.mu.Lock()
	a, ok := p.account()
	known := ok && a.Peek(k.Rule, now, k.Cost, &k.Decision) && !(k.Rule.Strict && k.Decision.OK)
	p.shard.mu.Unlock()
	return known
}
