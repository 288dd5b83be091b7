package lease

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// reset resets the count of a key, as another node does.
func (n node) reset(r *limiter.Rule, key string) {
	n.t.Helper()
	if err := n.lender.Reset(n.t.Context(), 0, r, []byte(key)); err != nil {
		n.t.Fatal(err)
	}
}

// account returns what an inspection shows of the account of a key. It returns nil if there is
// none.
func (n node) account(r *limiter.Rule, key string) *limiter.AccountState {
	n.t.Helper()
	i, err := n.Inspect(n.t.Context(), n.options.Clock(), r, []byte(key))
	if err != nil {
		n.t.Fatal(err)
	}
	return i.Account
}

// TestReset gives a key its full limit. The node that resets it and a node that is told use the
// full limit at once.
func TestReset(t *testing.T) {
	for _, told := range []bool{false, true} {
		for _, strict := range []bool{false, true} {
			inBubble(t, Options{}, func(t *testing.T, n node) {
				r := n.rule(limiter.Rule{Limit: limiter.Limit{Events: 10, Window: time.Hour}, Strict: strict})
				n.allowed(r, "key", 10, limiter.FromStore)
				n.denied(r, "key", 1, limiter.FromStore)
				n.denied(r, "key", 1, limiter.FromRememberedDenial)
				if told {
					n.reset(r, "key")
					n.Drop(r, []byte("key"))
				} else if err := n.Reset(t.Context(), n.options.Clock(), r, []byte("key")); err != nil {
					t.Fatal(err)
				}
				takes := []limiter.Take{takeOf(r, "key", 1)}
				if err := n.Peek(t.Context(), n.options.Clock(), takes); err != nil || takes[0].Decision.Remaining != 10 {
					t.Errorf("peek after the reset = %+v, %v, want 10 remaining", takes[0].Decision, err)
				}
				if d := n.allowed(r, "key", 4, limiter.FromStore); d.Remaining != 6 {
					t.Errorf("take after the reset = %+v, want 6 remaining", d)
				}
				n.allowed(r, "key", 6, limiter.FromStore)
				if d := n.denied(r, "key", 1, limiter.FromStore); !d.Breach {
					t.Errorf("denial after the reset = %+v, want it to be the first", d)
				}
				n.denied(r, "key", 1, limiter.FromRememberedDenial)
			})
		}
	}
}

// TestDropReturnsLeases has a node that is told of a reset spend no earlier lease. The lease is
// returned at once, and the store ignores the return.
func TestDropReturnsLeases(t *testing.T) {
	for _, kind := range kinds {
		if kind == limiter.TokenBucket {
			continue // see TestDropKeepsParts
		}
		inBubble(t, Options{}, func(t *testing.T, n node) {
			r := n.rule(limiter.Rule{
				Algorithm: limiter.Algorithm{Kind: kind}, Limit: limiter.Limit{Events: 100_000, Window: limiter.MaxWindow},
			})
			n.warm(r, "key")
			n.reset(r, "key")
			n.lender.decide(func([]limiter.LeaseRequest) (fate, time.Duration) { return answered, rtt })
			n.Drop(r, []byte("key"))
			requests := n.lender.received()
			if d := n.allowed(r, "key", 3, limiter.FromStore); d.Remaining < 99_000 {
				t.Errorf("%v: take after the reset = %+v, want nearly all remaining", kind, d)
			}
			n.waitForReturns()
			n.checkUsed(r, "key", 3)
			if s := n.Stats(); s.Lost != 0 || n.lender.received() == requests {
				t.Errorf("%v: stats = %+v, want nothing lost", kind, s)
			}
			n.checkIdle(r)
		})
	}
}

// TestDropDuringRequest changes a count after the lender has denied a request and before its reply
// arrives. The denial is not remembered: takes that wait for another request, and later takes, ask
// the lender.
func TestDropDuringRequest(t *testing.T) {
	for name, drop := range map[string]func(n node, r *limiter.Rule){
		"drop":         func(n node, r *limiter.Rule) { n.Drop(r, []byte("key")) },
		"drop denial":  func(n node, r *limiter.Rule) { n.DropDenial(r, []byte("key")) },
		"drop denials": func(n node, r *limiter.Rule) { n.DropDenials(r.Zone) },
	} {
		for _, goesOn := range []bool{false, true} {
			inBubble(t, Options{}, func(t *testing.T, n node) {
				r := n.fixed("zone", 1, 10)
				n.allowed(r, "key", 10, limiter.FromStore)
				n.lender.decide(func([]limiter.LeaseRequest) (fate, time.Duration) { return answered, 10 * rtt })
				var wg sync.WaitGroup
				wg.Go(func() { n.denied(r, "key", 1, limiter.FromStore) })
				time.Sleep(7 * rtt) // the reply is on its way
				n.reset(r, "key")
				drop(n, r)
				if goesOn {
					wg.Go(func() { n.allowed(r, "key", 2, limiter.FromStore) })
				}
				wg.Wait()
				if goesOn {
					n.waitForReplies()
				}
				n.allowed(r, "key", 3, limiter.FromStore)
				n.allowed(r, "key", 5, limiter.FromStore)
				if t.Failed() {
					t.Fatalf("%s, another take waits: %v", name, goesOn)
				}
			})
		}
	}
}

// TestDropGrantDuringRequest has a reply grant a lease before a reset and arrive after it. The
// lease is not spent.
func TestDropGrantDuringRequest(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 10_000)
		n.warm(r, "key")
		n.allowed(r, "key", n.leased(r, "key"), limiter.FromLease)
		n.waitForReplies()
		n.lender.decide(func([]limiter.LeaseRequest) (fate, time.Duration) { return answered, 10 * rtt })
		var wg sync.WaitGroup
		wg.Go(func() { n.allowed(r, "key", n.leased(r, "key")+1, limiter.FromStore) })
		time.Sleep(7 * rtt)
		n.reset(r, "key")
		n.Drop(r, []byte("key"))
		wg.Wait()
		if leases := n.account(r, "key").Leases; len(leases) > 0 {
			t.Errorf("leases after the reply = %+v, want none", leases)
		}
		n.allowed(r, "key", 1, limiter.FromStore)
		n.waitForReturns()
		n.checkUsed(r, "key", 1)
	})
}

// TestDropDebt drops the debt of an account when its count is reset. A request with the debt may be
// under way, and may fail. Later debt is settled.
func TestDropDebt(t *testing.T) {
	for _, test := range []struct {
		fate  fate
		under bool // a request is under way
		used  int64
	}{
		{answered, true, 2}, // the request was sent before the node was told
		{lostRequest, true, 0},
		{answered, false, 0},
	} {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			inBubble(t, Options{}, func(t *testing.T, n node) {
				r := n.fixed("zone", 1, 1000)
				n.lender.decide(func([]limiter.LeaseRequest) (fate, time.Duration) { return test.fate, 2 * time.Second })
				n.owes(r, "key", 2)
				if test.under {
					time.Sleep(500 * time.Millisecond) // the pause is over
				}
				if debt := n.account(r, "key"); debt.Debt != 2 || debt.Requesting != test.under {
					t.Errorf("account = %+v, want a debt of 2", debt)
				}
				n.DropDenial(r, []byte("key"))
				if _, debt := n.outstanding(r, "key"); debt != 2 {
					t.Errorf("debt after quota was added = %d, want it to stay", debt)
				}
				n.reset(r, "key")
				n.Drop(r, []byte("key"))
				if _, debt := n.outstanding(r, "key"); debt != 0 {
					t.Errorf("debt after the reset = %d, want 0", debt)
				}
				time.Sleep(3 * time.Second)
				if debt := n.Stats().OutageDebt(); debt != 0 {
					t.Errorf("debt of the store = %d, want 0", debt)
				}
				n.checkUsed(r, "key", test.used)

				n.lender.always(answered)
				n.owes(r, "key", 3)
				time.Sleep(3 * time.Second)
				n.checkUsed(r, "key", test.used+3)
				if debt := n.Stats().OutageDebt(); debt != 0 {
					t.Errorf("debt of the store in the end = %d, want 0", debt)
				}
			})
		})
	}
}

// TestDropOutageDebt has debt of an outage when the count is reset. A request with the debt may be
// under way. A reset drops the debt, and added quota does not. Later debt is debited.
func TestDropOutageDebt(t *testing.T) {
	for _, under := range []bool{false, true} {
		inBubble(t, Options{}, func(t *testing.T, n node) {
			r := n.outage("zone", 1, limiter.OutageLocal)
			n.allowed(r, "key", 1, limiter.FromStore)
			n.lender.always(unreachable)
			for range 3 {
				if d := n.takesInOutage(r, "key", 1); !d.OK {
					t.Fatalf("take = %+v, want it admitted", d)
				}
			}
			n.DropDenial(r, []byte("key"))
			if a := n.account(r, "key"); a.Debt != 3 {
				t.Errorf("account after quota was added = %+v, want a debt of 3", a)
			}
			if under {
				n.lender.decide(func([]limiter.LeaseRequest) (fate, time.Duration) { return answered, 100 * rtt })
				for !n.account(r, "key").Requesting {
					time.Sleep(time.Millisecond)
				}
			}
			n.reset(r, "key")
			n.Drop(r, []byte("key"))
			if a := n.account(r, "key"); a.Debt != 0 || a.Requesting != under {
				t.Errorf("account after the reset = %+v, want no debt", a)
			}
			used := int64(3) // debited by the request that was sent before the node was told
			if !under {
				used = 2
				n.lender.always(unreachable)
				n.takesInOutage(r, "key", used)
			}
			n.lender.always(answered)
			time.Sleep(5 * time.Second)
			n.waitForReturns()
			n.checkUsed(r, "key", used)
			if s := n.Stats(); s.DebtDropped != 3 || s.OutageDebt() != 0 {
				t.Errorf("request under way %v: stats = %+v, want 3 dropped and no debt", under, s)
			}
		})
	}
}

// TestDropWithFullBackground returns the leases of a reset key as soon as a background call may
// begin.
func TestDropWithFullBackground(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 10_000)
		n.warm(r, "key")
		leased, returned := n.leased(r, "key"), n.Stats().Returned
		release := n.fillBackground(maxBackground)
		n.Drop(r, []byte("key"))
		if got := n.leased(r, "key"); got != leased || n.Stats().Returned != returned {
			t.Errorf("leased while the background is full = %d, want the %d that are to be returned", got, leased)
		}
		release()
		n.waitForReplies()
		if got := n.Stats().Returned - returned; got != uint64(leased) {
			t.Errorf("returned in the end = %d, want %d", got, leased)
		}
		n.waitForReturns()
		n.checkIdle(r)
	})
}

// TestAddQuota admits as many more events as were added, at once. Leases stay.
func TestAddQuota(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 10)
		n.allowed(r, "key", 10, limiter.FromStore)
		n.denied(r, "key", 1, limiter.FromStore)
		c, err := n.AddQuota(t.Context(), n.options.Clock(), r, []byte("key"), 3)
		if err != nil || c.Remaining != 3 || c.Consumed != 7 {
			t.Errorf("quota added: %+v, %v, want 3 remaining", c, err)
		}
		if d := n.allowed(r, "key", 1, limiter.FromStore); d.Remaining != 2 {
			t.Errorf("take = %+v, want 2 remaining", d)
		}
		n.allowed(r, "key", 2, limiter.FromStore)
		n.denied(r, "key", 1, limiter.FromStore)

		wide := n.fixed("wide", 2, 10_000)
		n.warm(wide, "key")
		n.DropDenial(wide, []byte("key"))
		n.allowed(wide, "key", 1, limiter.FromLease)
	})
}

// TestDropDenials drops all denials of a zone, and no others.
func TestDropDenials(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r, other := n.fixed("zone", 1, 10), n.fixed("other", 2, 10)
		for i := range 100 {
			n.denied(r, fmt.Sprint(i), 11, limiter.FromStore)
		}
		n.denied(other, "key", 11, limiter.FromStore)
		n.DropDenials(r.Zone)
		for i := range 100 {
			n.denied(r, fmt.Sprint(i), 11, limiter.FromStore)
		}
		n.denied(other, "key", 11, limiter.FromRememberedDenial)
		n.DropDenials(nil)
	})
}

// TestDropKeepsParts has a node that is told of a reset go on to spend its part of the bucket. The
// store counts the part against what the bucket has after the reset.
func TestDropKeepsParts(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.rule(limiter.Rule{Limit: limiter.Limit{Events: 4000, Window: time.Hour}})
		n.allowed(r, "key", 1, limiter.FromStore)
		n.reset(r, "key")
		n.Drop(r, []byte("key"))
		if leased := n.leased(r, "key"); leased != 8 {
			t.Errorf("leased after the reset = %d, want the 8 from before", leased)
		}
		n.checkUsed(r, "key", 8)
		n.allowed(r, "key", 8, limiter.FromLease)
	})
}

// TestInspect shows the account of a key, and changes nothing.
func TestInspect(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 10_000)
		if a := n.account(r, "key"); a != nil {
			t.Errorf("account of an unknown key = %+v, want none", a)
		}
		n.checkAccounts(0)
		taken := n.warm(r, "key")
		requests, leased := n.Stats().Requests, n.leased(r, "key")
		for range 100 {
			i, err := n.Inspect(t.Context(), n.options.Clock(), r, []byte("key"))
			a := i.Account
			if err != nil || i.Count.Consumed != taken+leased || a == nil {
				t.Fatalf("inspection = %+v, %v, want %d consumed and an account", i, err, taken+leased)
			}
			held := int64(0)
			for _, l := range a.Leases {
				if held += l.Events; l.Lasts <= 0 || l.Lasts > 10*time.Second {
					t.Errorf("lease lasts %v, want at most 10 s", l.Lasts)
				}
			}
			if held != leased || a.DeniedFor != 0 || a.Debt != 0 || a.Demand < 5 || a.Demand > 20 || a.Requesting {
				t.Fatalf("account = %+v, want %d leased and a demand of 200 in 20 s", a, leased)
			}
		}
		if n.Stats().Requests != requests || n.leased(r, "key") != leased {
			t.Error("inspections have changed the account")
		}

		n.denied(r, "denied", 10_001, limiter.FromStore)
		a := n.account(r, "denied")
		if a.DeniedFor <= 0 || a.DeniedFor > time.Second || a.DeniedCost != 10_001 {
			t.Errorf("account of a denied key = %+v, want the denial", a)
		}
		if a := n.account(n.fixed("zone", 1, 20_000), "denied"); a.DeniedFor != 0 {
			t.Errorf("account under a raised limit = %+v, want no denial", a)
		}
	})
}

// TestOperatorFails has the lender fail. The node still shows its account. Takes ask the lender,
// because it may have changed the count all the same.
func TestOperatorFails(t *testing.T) {
	s := New(deadLender{}, Options{})
	defer s.Close()
	n := node{t, s, newLender(0)}
	r := n.fixed("zone", 1, 10)
	n.grant(r, "key", 5)
	n.withDenial(r, "denied")
	now := s.Now()
	if i, err := s.Inspect(t.Context(), now, r, []byte("denied")); err != errCut || i.Account == nil || i.Account.DeniedFor == 0 {
		t.Errorf("inspection = %+v, %v, want the account and %v", i, err, errCut)
	}
	if err := s.Reset(t.Context(), now, r, []byte("denied")); err != errCut {
		t.Errorf("reset = %v, want %v", err, errCut)
	}
	if i, _ := s.Inspect(t.Context(), now, r, []byte("denied")); i.Account.DeniedFor != 0 {
		t.Errorf("account after that = %+v, want no denial", i.Account)
	}
	if _, err := s.AddQuota(t.Context(), now, r, []byte("key"), 1); err != errCut {
		t.Errorf("add quota = %v, want %v", err, errCut)
	}
	closed := n.fixed("closed", 2, 10)
	closed.Zone.(*Accounts).Close()
	if err := s.Reset(t.Context(), now, closed, []byte("key")); err != errCut {
		t.Errorf("reset in a closed zone = %v, want %v", err, errCut)
	}
	s.Drop(closed, []byte("key"))
	s.Drop(r, []byte("unknown"))
}

// withDenial gives an account a remembered denial, as if the lender had just denied a take.
func (n node) withDenial(r *limiter.Rule, key string) {
	p := n.locationOf(r, key)
	now := n.now()
	p.shard.Lock()
	defer p.shard.Unlock()
	a, _, _ := p.addLocked(r, now)
	p.zone.rules.add(r)
	l := limiter.LeaseRequest{Rule: r, Need: 1, Decision: limiter.Decision{At: 1000, RetryAt: 10_000_000, Limit: 10}}
	a.switchLimit(r)
	a.applyReply(r, now, now, &l, 0, false)
}
