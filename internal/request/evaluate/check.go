package evaluate

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/request/response"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// A check is one limit that applies to the request. It has the take that the store decides, the result of
// that decision, how the request may wait for the limit, and what becomes of the events when the response has
// ended. The policy of the result says what kind of limit it is: a rate, requests at once, a block, or
// unlimited.
type check struct {
	zone       *zone.Zone // nil if the limit is that of emergency mode
	take       limiter.Take
	origin     limiter.Origin // of the events of take
	result     response.Result
	wait       waiting
	hold       zone.Hold  // for how long the request holds its place, if the limit is of requests at once
	settlement settlement // nil if what is taken stays taken
}

// A settlement decides what becomes of the events of an admitted request when its response has ended.
type settlement interface {
	// hold begins the settlement of the take of c. It does nothing if the store could not decide that take.
	hold(e *Evaluation, c *check)

	// cancel has all events given back, whatever the response is, because a later handler rejects the
	// request.
	cancel()
}

// A keptTake is the admitted take of a check, in memory of its own: the request's buffers are used again
// before the response ends. Settlements embed it.
type keptTake struct {
	take      limiter.Take
	origin    limiter.Origin
	store     takeStore
	cancelled bool
}

// keep copies the take of c. It returns false if the store could not decide that take.
func (k *keptTake) keep(e *Evaluation, c *check) bool {
	if !c.take.Decision.OK {
		return false
	}
	k.take, k.origin, k.store = c.take, c.origin, e.handler.Store
	k.take.Key, k.take.Origin = bytes.Clone(c.take.Key), &k.origin
	return true
}

func (k *keptTake) cancel() { k.cancelled = true }

// asksStore reports whether the store decides the take. It returns false for a block, for unlimited, and for
// a limit of requests at once, whose take has a key and no rule.
func (c *check) asksStore() bool { return c.take.Rule != nil }

// add appends a check of a charge to list. The returned pointer is valid until the next check is added to
// list.
func (e *Evaluation) add(list *[]check, found *zone.Reading, charge *zone.Charge) *check {
	n := len(*list)
	*list = slices.Grow(*list, 1)[:n+1] // zero, because Release clears the elements that were in use
	c := &(*list)[n]
	c.zone = found.Zone
	c.take.Rule, c.take.Key, c.take.Cost, c.take.Client = charge.Policy.Rule, found.Key, charge.Cost, (*client)(e.HTTP)
	found.Describe(charge, &c.result)
	switch {
	case charge.Policy.Rule == nil:
	case charge.Late != nil:
		c.settlement = &costSettlement{late: charge.Late, zone: reported(found.Zone), counts: &found.Zone.Usage.Charges}
	case charge.Counts != nil:
		c.settlement = &statusSettlement{counts: charge.Counts}
	default:
		c.take.Wait = e.waitOf(charge)
	}
	return c
}

// addEnforced adds a check that may reject the request.
func (e *Evaluation) addEnforced(found *zone.Reading, charge *zone.Charge) {
	c := e.add(&e.checks, found, charge)
	c.result.Settings = e.handler.Settings
	c.wait.most = charge.Wait
	switch {
	case c.result.Policy.Block:
		e.blocked = true
	case c.result.IsConcurrent():
		c.hold, e.limitsConcurrent = found.Zone.Hold, true
	case c.isByStatus():
		e.countsByStatus = true
	case c.take.Wait > 0:
		c.wait.forTurn, e.mayWait = true, true
	}
}

// addRate adds the check of a charge that is not about requests at once, less what earlier handlers have
// charged the request to the same count. It adds nothing and returns false if nothing is left to charge, or
// if the charge depends on the response and an earlier handler makes it.
func (e *Evaluation) addRate(found *zone.Reading, charge *zone.Charge) bool {
	if charge.Policy.Rule != nil {
		before := e.charged(found.Zone, charge.Policy.Rule, found.Key)
		if charge.Cost -= before; charge.Cost <= 0 || charge.Late != nil && before > 0 {
			return false
		}
	}
	if found.DryRun {
		e.add(&e.dryRuns, found, charge)
	} else {
		e.addEnforced(found, charge)
	}
	return true
}

// decideChecks decides the checks. now is the instant of the decisions, and failed the error of the store.
// err is not nil if the client has gone meanwhile.
func (e *Evaluation) decideChecks() (now time.Time, failed, err error) {
	now = e.Time()
	e.now = limiter.At(now)
	e.arrived = e.now
	if e.limitsConcurrent {
		now, failed = e.acquirePermits(now)
	}
	switch {
	case (e.awaited || e.now != e.arrived) && !e.blocked && !e.renew(now):
		// The rules in force refuse or block the request now, which renew has decided.
	case !e.countsByStatus || e.blocked || e.previews:
		failed = cmp.Or(e.ask(e.checks, e.asking(e.blocked), now), failed)
	default:
		var late error
		now, late = e.takeInTurn(now)
		e.resumeAt(now)
		failed = cmp.Or(late, failed)
	}
	if e.mayWait && !e.isRejected() && !e.blocked && !e.previews {
		now, failed = e.takeAtRetry(now, failed)
	}
	if failed != nil {
		if gone := clientGoneError(e.HTTP.Context()); gone != nil {
			e.state.releasePermits(e.firstPermit)
			return now, failed, gone
		}
	}
	e.timeDecision(now)
	adoptDecisions(e.checks, e.now)
	return now, failed, nil
}

// asking is how the store is asked.
type asking uint8

const (
	taking     asking = iota
	peeking           // consumes nothing: something rejects the request anyway, or it may have to wait first
	previewing        // consumes nothing, and asks for the counts of other nodes: the request is explained
)

// asking returns how the store is asked. blocked says that something rejects the request whatever the store
// answers.
func (e *Evaluation) asking(blocked bool) asking {
	switch {
	case e.previews:
		return previewing
	case blocked:
		return peeking
	}
	return taking
}

// ask has the store decide the takes of checks together, and copies the decisions into checks. It returns the
// first error of a take that the store could not decide.
func (e *Evaluation) ask(checks []check, how asking, now time.Time) (err error) {
	e.asked = emptied(e.asked)
	for i := range checks {
		if c := &checks[i]; c.asksStore() {
			c.take.Origin = &c.origin
			e.asked = append(e.asked, c.take)
		}
	}
	if len(e.asked) == 0 {
		return nil
	}
	switch ctx, store := e.HTTP.Context(), e.handler.Store; how {
	case previewing:
		err = store.Preview(ctx, now, e.asked)
	case peeking:
		err = store.Peek(ctx, now, e.asked)
	default:
		err = store.Take(ctx, now, e.asked)
	}
	answers := e.asked
	for i := range checks {
		if c := &checks[i]; c.asksStore() {
			c.take.Decision, c.take.Err = answers[0].Decision, answers[0].Err
			answers = answers[1:]
		}
	}
	return err
}

// adoptDecisions writes the decisions of the takes into the results. Results about requests at once have
// their decisions from acquirePermit.
func adoptDecisions(checks []check, now limiter.Instant) {
	for i := range checks {
		c := &checks[i]
		switch r := &c.result; {
		case r.IsConcurrent():
		case r.Policy.Block:
			r.Block(now)
		case r.Policy.Unlimited():
			r.Decision = limiter.Decision{OK: true, At: now}
		default:
			if r.Decide(&c.take, now); r.Decision.OK && c.wait.waited > 0 {
				r.Waited = c.wait.waited
			}
		}
	}
}

// findDenied finds the decisive checks: of each zone, the check that describes what it decides about its
// rate, and the one that describes what it decides about requests at once. If any of them rejects the
// request, findDenied sets denied and releases the permits that this handler holds.
func (e *Evaluation) findDenied() {
	for i := range e.checks {
		c, last := &e.checks[i], len(e.decisive)-1
		switch {
		case last < 0 || !c.result.IsLike(&e.decisive[last].result):
			e.decisive = append(e.decisive, c)
		case c.result.Decides(&e.decisive[last].result):
			e.decisive[last] = c
		}
	}
	for _, c := range e.decisive {
		if r := &c.result; !r.Decision.OK && (e.denied == nil || r.Outweighs(e.denied)) {
			e.denied = r
		}
	}
	if e.denied != nil {
		e.state.releasePermits(e.firstPermit)
	}
}

// noteStore tells the store that it has answered, or that it failed with the error failed. It does nothing if
// no check has asked the store.
func (e *Evaluation) noteStore(now time.Time, failed error) {
	for i := range e.checks {
		if c := &e.checks[i]; c.asksStore() || c.result.IsConcurrent() {
			e.handler.Store.Note(now, failed)
			return
		}
	}
}

// eachZone yields the decisive checks of each zone: one, and the other that the zone may have, about requests
// at once, or nil. They are adjacent, and the one about the rate comes first.
func (e *Evaluation) eachZone(yield func(c, other *check) bool) {
	for rest := e.decisive; len(rest) > 0; {
		c, other := rest[0], (*check)(nil)
		if rest = rest[1:]; len(rest) > 0 && rest[0].zone == c.zone {
			other, rest = rest[0], rest[1:]
		}
		if !yield(c, other) {
			return
		}
	}
}

// tellDecisive adds the results of the decisive checks to those that the response describes.
func (e *Evaluation) tellDecisive() {
	for _, c := range e.decisive {
		e.state.Add(&c.result)
	}
}

// rememberCharges remembers what checks have charged the request, so that later handlers charge only the
// difference.
func (e *Evaluation) rememberCharges(checks []check) {
	for i := range checks {
		if c := &checks[i]; c.asksStore() {
			e.state.addCharge(&c.take)
		}
	}
}

// holdTaken begins the settlements of checks.
func (e *Evaluation) holdTaken(checks []check) {
	for i := range checks {
		if c := &checks[i]; c.settlement != nil {
			c.settlement.hold(e, c)
		}
	}
}
