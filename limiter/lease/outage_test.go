package lease

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// outage returns a rule of 20 events a day with an outage mode, in a zone of this name.
func (n node) outage(zone string, id uint32, mode limiter.OutageMode) *limiter.Rule {
	n.t.Helper()
	return n.rule(limiter.Rule{
		ID: id, Zone: n.Open(zone), OnOutage: mode, Algorithm: limiter.Algorithm{Kind: limiter.FixedWindow},
		Limit: limiter.Limit{Events: 20, Window: 24 * time.Hour},
	})
}

// takesInOutage takes now. The take must fail with errCut, and the outage mode must decide it.
func (n node) takesInOutage(r *limiter.Rule, key string, cost int64) limiter.Decision {
	n.t.Helper()
	takes := []limiter.Take{takeOf(r, key, cost)}
	if n.fails(errCut, takes...); takes[0].Decision.Source != limiter.FromOutage {
		n.t.Errorf("take in an outage = %+v, want it decided by the outage mode", takes[0])
	}
	return takes[0].Decision
}

// owes takes now, while the lender is known to be in an outage. The take must be admitted and
// become debt of the account.
func (n node) owes(r *limiter.Rule, key string, cost int64) {
	n.t.Helper()
	n.lender.refuse(true)
	if d := n.takesInOutage(r, key, cost); !d.OK {
		n.t.Errorf("take of %d of %q = %+v, want it admitted", cost, key, d)
	}
	n.lender.refuse(false)
}

// TestOutageModes takes from a lender that fails, in all outage modes. Five nodes share the limits.
func TestOutageModes(t *testing.T) {
	inBubble(t, Options{OutageNodes: func() int { return 5 }, ProbeEvery: 3 * time.Second}, func(t *testing.T, n node) {
		n.lender.always(lostRequest)
		for mode, most := range map[limiter.OutageMode]int{limiter.OutageLocal: 4, limiter.OutageOpen: 50, limiter.OutageClosed: 0} {
			r := n.outage("zone", 1+uint32(mode), mode)
			for i := range 50 {
				d := n.takesInOutage(r, "key", 1)
				if d.OK != (i < most) {
					t.Errorf("%v: take %d = %+v, want OK %v", mode, i, d, i < most)
				}
				if want := d.At + 3*sec; mode == limiter.OutageClosed && d.RetryAt != want {
					t.Errorf("closed: retry at %d, want %d", d.RetryAt, want)
				}
			}
		}
	})
}

// TestOutageSpendsLeasesFirst spends a lease while the lender fails. After that, no more is
// admitted than was known to be left.
func TestOutageSpendsLeasesFirst(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.outage("zone", 1, limiter.OutageLocal)
		n.allowed(r, "key", 6, limiter.FromStore)
		n.grant(r, "key", 10)
		n.lender.always(lostRequest)
		leased := n.leased(r, "key")
		if leased == 0 {
			t.Fatal("nothing is leased")
		}
		for range leased {
			n.allowed(r, "key", 1, limiter.FromLease)
		}
		for i := range 20 - 6 - leased {
			if d := n.takesInOutage(r, "key", 1); !d.OK {
				t.Errorf("take %d of what was left = %+v, want it admitted", i, d)
			}
		}
		if d := n.takesInOutage(r, "key", 1); d.OK {
			t.Errorf("take of more than was left = %+v, want it denied", d)
		}
	})
}

// TestDenialInOutageUndoesOthers has an outage mode deny one of several takes. What the other takes
// have taken from leases and local buckets is undone.
func TestDenialInOutageUndoesOthers(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		local, closed := n.outage("local", 1, limiter.OutageLocal), n.outage("closed", 2, limiter.OutageClosed)
		healthy := n.fixed("healthy", 3, 1000)
		n.allowed(healthy, "key", 1, limiter.FromStore)
		n.lender.decide(func(requests []limiter.LeaseRequest) (fate, time.Duration) {
			if requests[0].Rule.ID == healthy.ID {
				return answered, rtt
			}
			return lostRequest, rtt
		})
		for range 30 {
			takes := []limiter.Take{takeOf(healthy, "key", 1), takeOf(local, "a", 20), takeOf(closed, "b", 1)}
			n.fails(errCut, takes...)
			if takes[0].Err != nil || !takes[0].Decision.OK || takes[2].Decision.OK || takes[2].Decision.Source != limiter.FromOutage {
				t.Errorf("takes = %+v, want the last denied by its outage mode", takes)
			}
		}
		if d := n.takesInOutage(local, "a", 20); !d.OK {
			t.Errorf("take from the local bucket = %+v, want it admitted: the others were undone", d)
		}
		n.waitForReturns()
		n.checkUsed(healthy, "key", 1)
	})
}

// TestDenialWinsOverOutage takes from a zone that denies and from a zone whose lender fails. The
// second zone decides nothing and takes nothing.
func TestDenialWinsOverOutage(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		local, denies := n.outage("local", 1, limiter.OutageLocal), n.fixed("denies", 2, 1)
		n.lender.decide(func(requests []limiter.LeaseRequest) (fate, time.Duration) {
			if requests[0].Rule.ID == denies.ID {
				return answered, 4 * rtt
			}
			return lostRequest, rtt
		})
		for range 30 {
			takes := []limiter.Take{takeOf(local, "a", 1), takeOf(denies, "b", 2)}
			_ = n.Take(t.Context(), n.options.Clock(), takes)
			if takes[1].Decision.OK || takes[1].Err != nil || takes[0].Decision.Source == limiter.FromOutage {
				t.Errorf("takes = %+v, want the second denied, and the first not decided", takes)
			}
			time.Sleep(time.Second) // the denial is no longer remembered
		}
		if d := n.takesInOutage(local, "a", 20); !d.OK {
			t.Errorf("take from the local bucket = %+v, want it full", d)
		}
	})
}

// TestOutageWithoutAccount takes keys that find no room, and keys of a closed zone, while the
// lender fails. A key keeps its local bucket when its zone is closed.
func TestOutageWithoutAccount(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.rule(limiter.Rule{
			MaxKeys: 1, Algorithm: limiter.Algorithm{Kind: limiter.FixedWindow}, Limit: limiter.Limit{Events: 20, Window: 24 * time.Hour},
		})
		n.denied(r, "at its limit, so it stays", 21, limiter.FromStore)
		n.lender.always(lostRequest)
		for i := range 30 {
			if i == 10 {
				r.Zone.(*Accounts).Close()
			}
			if d := n.takesInOutage(r, "key", 1); d.OK != (i < 20) {
				t.Errorf("take %d = %+v, want OK %v", i, d, i < 20)
			}
		}
	})
}

// TestClientGoneInOutage ends a request while its take waits. The take takes nothing from the local
// bucket.
func TestClientGoneInOutage(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.outage("zone", 1, limiter.OutageLocal)
		n.lender.always(silence)
		for range 30 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			takes := []limiter.Take{takeOf(r, "key", 1)}
			if err := n.Take(ctx, n.options.Clock(), takes); !errors.Is(err, context.DeadlineExceeded) || takes[0].Decision.OK {
				t.Errorf("take = %+v, %v, want no decision", takes[0], err)
			}
			cancel()
		}
		takes := []limiter.Take{takeOf(r, "key", 20)}
		if n.fails(ErrTimeout, takes...); !takes[0].Decision.OK {
			t.Errorf("take = %+v, want it admitted from a full bucket", takes[0])
		}
	})
}

// TestDebtOfOutage has the lender come back after takes were admitted without it. It debits their
// events once, although no take comes any more, and at most one limit of them.
func TestDebtOfOutage(t *testing.T) {
	for _, mode := range []limiter.OutageMode{limiter.OutageLocal, limiter.OutageOpen} {
		for _, taken := range []int64{1, 5, 14, 60} {
			inBubble(t, Options{}, func(t *testing.T, n node) {
				r := n.outage("zone", 1, mode)
				r.Strict = true // nothing is leased
				n.allowed(r, "key", 6, limiter.FromStore)
				n.lender.always(unreachable)
				admitted := int64(6)
				for range taken {
					takes := []limiter.Take{takeOf(r, "key", 1)}
					if _ = n.Take(t.Context(), n.options.Clock(), takes); takes[0].Decision.OK {
						admitted++
					}
					time.Sleep(100 * time.Millisecond)
				}
				time.Sleep(time.Minute)
				n.lender.always(answered)
				time.Sleep(3 * time.Second)
				n.waitForReturns()
				n.checkUsed(r, "key", min(admitted, 20))
				received := n.lender.received()
				time.Sleep(time.Minute)
				n.checkUsed(r, "key", min(admitted, 20))
				if got := n.lender.received() - received; got > 1 { // one is sent by checkUsed
					t.Errorf("requests after the debt was debited = %d, want none", got-1)
				}
				if left := 20 - admitted; left > 0 {
					n.allowed(r, "key", left, limiter.FromStore)
				}
				time.Sleep(3 * time.Second)
				n.denied(r, "key", 1, limiter.FromStore)
			})
		}
	}
}

// TestRefusal takes from a lender that is known to be in an outage. No request is made, and no take
// waits, not even for a request under way. The debt is debited afterwards.
func TestRefusal(t *testing.T) {
	inBubble(t, Options{OutageNodes: twoNodes}, func(t *testing.T, n node) {
		r := n.outage("zone", 1, limiter.OutageLocal)
		open := n.outage("zone", 2, limiter.OutageOpen)
		n.lender.always(silence)
		n.fails(ErrTimeout, takeOf(open, "waits", 1))
		n.lender.always(unreachable)
		n.lender.refuse(true)
		requests := n.Stats().Requests
		for i := range 30 {
			takes := []limiter.Take{takeOf(r, "key", 1)}
			if took := n.fails(errCut, takes...); took != 0 || takes[0].Decision.OK != (i < 10) {
				t.Errorf("take %d = %+v after %v, want OK %v at once", i, takes[0].Decision, took, i < 10)
			}
		}
		if took := n.fails(errCut, takeOf(open, "waits", 2)); took != 0 {
			t.Errorf("a take of a key with a request under way took %v", took)
		}
		time.Sleep(time.Minute)
		if got := n.Stats().Requests; got != requests {
			t.Errorf("requests in the outage = %d, want none", got-requests)
		}
		checkOwed := func(when string, owed, settled, dropped int64) {
			t.Helper()
			if s := n.Stats(); s.OutageDebt() != owed || s.DebtSettled != uint64(settled) || s.DebtDropped != uint64(dropped) {
				t.Errorf("%s: owed = %d, settled = %d, dropped = %d; want %d, %d, %d",
					when, s.OutageDebt(), s.DebtSettled, s.DebtDropped, owed, settled, dropped)
			}
		}
		checkOwed("in the outage", 12, 0, 0)
		n.takesInOutage(open, "fresh", 7)
		checkOwed("in the outage, with another key", 19, 0, 0)
		n.lender.refuse(false)
		n.lender.always(answered)
		time.Sleep(3 * time.Second)
		n.checkUsed(r, "key", 10)
		n.checkUsed(open, "fresh", 7)
		checkOwed("after the outage", 2, 17, 0) // the silent request of the other key is still under way
	})
}

// TestRefusalUndone undoes takes that were admitted while the lender is known to be in an outage.
func TestRefusalUndone(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		local, closed := n.outage("local", 1, limiter.OutageLocal), n.outage("closed", 2, limiter.OutageClosed)
		n.lender.refuse(true)
		for range 30 {
			n.fails(errCut, takeOf(local, "key", 15), takeOf(closed, "key", 1))
		}
		if d := n.takesInOutage(local, "key", 20); !d.OK {
			t.Errorf("take = %+v, want it admitted: the others were undone", d)
		}
		n.lender.refuse(false)
		time.Sleep(3 * time.Second)
		n.checkUsed(local, "key", 20)
		n.checkUsed(closed, "key", 0)
	})
}

// TestRefusedRefill spends a lease that runs low while the lender is known to be in an outage.
// Nothing of the lease is returned, and no request is made.
func TestRefusedRefill(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 1000)
		n.warm(r, "key")
		n.lender.refuse(true)
		requests := n.Stats().Requests
		for range n.leased(r, "key") {
			n.allowed(r, "key", 1, limiter.FromLease)
		}
		if got := n.Stats().Requests; got != requests {
			t.Errorf("requests = %d, want none", got-requests)
		}
	})
}

// TestFirstTakeAfterOutage takes as soon as the lender is back. The lender first debits what was
// admitted without it.
func TestFirstTakeAfterOutage(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.outage("zone", 1, limiter.OutageLocal)
		n.lender.always(unreachable)
		n.takesInOutage(r, "key", 20)
		n.lender.always(answered)
		n.denied(r, "key", 1, limiter.FromStore)
		n.waitForReturns()
		n.checkUsed(r, "key", 20)
	})
}

// TestUnknownOutcomeIsNotOwed fails takes whose requests may have had an effect, and then the
// request that carries a debt. No event is debited twice.
func TestUnknownOutcomeIsNotOwed(t *testing.T) {
	for _, f := range []fate{lostRequest, lostReply} {
		inBubble(t, Options{}, func(t *testing.T, n node) {
			r := n.outage("zone", 1, limiter.OutageLocal)
			n.lender.always(f)
			n.takesInOutage(r, "key", 5) // debited by the request itself, or never
			n.lender.always(unreachable)
			n.takesInOutage(r, "key", 2)
			n.lender.always(f)
			time.Sleep(3 * time.Second) // the debt is debited, or lost
			n.lender.always(answered)
			time.Sleep(3 * time.Second)
			n.waitForReturns()
			want := int64(0)
			if f == lostReply {
				want = 7
			}
			n.checkUsed(r, "key", want+n.lender.lostGrants)
		})
	}
}

// TestUndoneTakesOweNothing undoes takes that were admitted without the lender. They leave no debt.
func TestUndoneTakesOweNothing(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		local, closed := n.outage("local", 1, limiter.OutageLocal), n.outage("closed", 2, limiter.OutageClosed)
		n.lender.always(unreachable)
		for range 10 {
			n.fails(errCut, takeOf(local, "key", 2), takeOf(closed, "key", 1))
		}
		n.takesInOutage(local, "key", 3)
		n.lender.always(answered)
		time.Sleep(3 * time.Second)
		n.waitForReturns()
		n.checkUsed(local, "key", 3)
		n.checkUsed(closed, "key", 0)
	})
}
