package lease

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestSeveralZones takes from the zones of a user, a tenant and everybody, each with another limit.
// Either all takes are consumed or none, whatever is leased already.
func TestSeveralZones(t *testing.T) {
	for _, warm := range []bool{false, true} {
		t.Run(fmt.Sprintf("warm=%v", warm), func(t *testing.T) {
			inBubble(t, Options{}, func(t *testing.T, n node) {
				user, tenant, all := n.fixed("a", 1, 3), n.fixed("b", 2, 1000), n.fixed("c", 3, 10_000)
				var before int64
				if warm {
					before = n.warm(tenant, "acme")
					n.warm(all, "")
				}
				for i, ok := range []bool{true, true, true, false, false} {
					takes := []limiter.Take{takeOf(all, "", 1), takeOf(user, "alice", 1), takeOf(tenant, "acme", 1)}
					n.fails(nil, takes...)
					for j, want := range []bool{true, ok, true} {
						if d := takes[j].Decision; d.OK != want {
							t.Errorf("take %d of zone %d = %+v, want OK %v", i, j, d, want)
						}
					}
				}
				n.waitForReturns()
				n.checkUsed(user, "alice", 3)
				n.checkUsed(tenant, "acme", before+3)
				n.checkUsed(all, "", before+3)
			})
		})
	}
}

// TestZonesOfOneKeyShareACall sends the requests of all zones of one key in one call. If one
// request is denied, none is served.
func TestZonesOfOneKeyShareACall(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		a, b, c := n.fixed("a", 1, 10), n.fixed("b", 2, 1), n.fixed("c", 3, 10)
		takes := []limiter.Take{takeOf(a, "key", 1), takeOf(b, "key", 2), takeOf(c, "key", 1)}
		n.fails(nil, takes...)
		if n.lender.calls != 1 || n.lender.received() != 3 {
			t.Errorf("calls = %d with %d requests, want 1 with 3", n.lender.calls, n.lender.received())
		}
		for i, want := range []bool{true, false, true} {
			if d := takes[i].Decision; d.OK != want {
				t.Errorf("take %d = %+v, want OK %v", i, d, want)
			}
		}
		n.waitForReplies()
		for _, r := range []*limiter.Rule{a, b, c} {
			n.checkUsed(r, "key", 0)
		}
	})
}

// TestManyTakes takes more keys and rules at once than a call has room for.
func TestManyTakes(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		var takes []limiter.Take
		for i := range 40 {
			takes = append(takes, takeOf(n.fixed("zone", uint32(i+1), 2), fmt.Sprint("key", i%2), 1))
		}
		for range 2 {
			n.fails(nil, takes...)
			for i, k := range takes {
				if !k.Decision.OK {
					t.Errorf("take %d = %+v, want it allowed", i, k.Decision)
				}
			}
		}
		if got := n.lender.calls; got != 2*6 { // 20 requests for each of 2 keys, 8 in a call
			t.Errorf("calls = %d, want 12", got)
		}
		n.fails(nil, takes...)
		for i, k := range takes {
			if k.Decision.OK {
				t.Errorf("take %d above the limit = %+v, want it denied", i, k.Decision)
			}
		}
	})
}

// TestRejectedClientDrainsNobody has 256 connections of one address send requests that also take a
// shared key. The shared key loses only the events of admitted requests, whenever replies come.
func TestRejectedClientDrainsNobody(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.String(), func(t *testing.T) {
			inBubble(t, Options{}, func(t *testing.T, n node) {
				zone := func(id uint32, name string, events int64) *limiter.Rule {
					return n.rule(limiter.Rule{
						ID: id, Zone: n.Open(name), Algorithm: limiter.Algorithm{Kind: kind},
						Limit: limiter.Limit{Events: events, Window: 24 * time.Hour},
					})
				}
				address, common := zone(1, "a", 10), zone(2, "b", 600_000)
				before := n.warm(common, "all")
				var jitter atomic.Int64
				n.lender.decide(func([]limiter.LeaseRequest) (fate, time.Duration) {
					return answered, time.Duration(1+jitter.Add(7)%20) * time.Millisecond
				})
				var admitted atomic.Int64
				var wg sync.WaitGroup
				for range 256 {
					wg.Go(func() {
						for range 100 {
							takes := []limiter.Take{takeOf(common, "all", 1), takeOf(address, "192.0.2.1", 1)}
							n.fails(nil, takes...)
							if takes[0].Decision.OK && takes[1].Decision.OK {
								admitted.Add(1)
							}
							time.Sleep(17 * time.Millisecond)
						}
					})
				}
				wg.Wait()
				n.waitForReturns()
				if got := admitted.Load(); got != 10 {
					t.Errorf("admitted = %d, want 10", got)
				}
				if kind != limiter.TokenBucket { // a bucket has refilled
					n.checkUsed(common, "all", before+10)
				}
				if s := n.Stats(); s.Lost != 0 {
					t.Errorf("stats = %+v, want nothing lost", s)
				}
			})
		})
	}
}

// TestDeniedLastIsTriedAlone has a key be requested alone if it was denied last, even when that
// denial is no longer remembered. Until the key is served, nothing is spent or requested in the
// other zones.
func TestDeniedLastIsTriedAlone(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		leased, cold, own := n.fixed("a", 1, 1000), n.fixed("b", 2, 1000), n.rule(limiter.Rule{
			ID: 3, Zone: n.Open("c"), Limit: limiter.Limit{Events: 1, Window: 10 * time.Second},
		})
		before := n.warm(leased, "shared")
		n.allowed(own, "own", 1, limiter.FromStore)
		n.denied(own, "own", 1, limiter.FromStore)
		request := func() []limiter.Take {
			return []limiter.Take{takeOf(leased, "shared", 1), takeOf(cold, "shared", 1), takeOf(own, "own", 1)}
		}
		for range 3 {
			time.Sleep(1100 * time.Millisecond) // the denial is no longer remembered
			left, received := n.leased(leased, "shared"), n.lender.received()
			n.lender.decide(func(requests []limiter.LeaseRequest) (fate, time.Duration) {
				if got := n.leased(leased, "shared"); got != left || requests[0].Rule != own {
					t.Errorf("leased of the shared key during the requests %+v = %d, want %d and no requests for others", requests, got, left)
				}
				return answered, rtt
			})
			takes := request()
			n.fails(nil, takes...)
			if !takes[0].Decision.OK || !takes[1].Decision.OK || takes[2].Decision.OK {
				t.Errorf("takes = %+v, want the last one denied", takes)
			}
			if got := n.lender.received() - received; got != 1 {
				t.Errorf("requests = %d, want 1", got)
			}
		}
		n.lender.always(answered)
		time.Sleep(10 * time.Second)
		takes := request()
		n.fails(nil, takes...)
		for i, k := range takes {
			if !k.Decision.OK {
				t.Errorf("take %d = %+v, want it allowed", i, k.Decision)
			}
		}
		n.waitForReturns()
		n.checkUsed(leased, "shared", before+1)
		n.checkUsed(cold, "shared", 1)
	})
}

// TestSeveralDeniedLast first requests the key with the latest retry instant, and then the other
// keys that were denied.
func TestSeveralDeniedLast(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		soon := n.rule(limiter.Rule{ID: 1, Zone: n.Open("a"), Limit: limiter.Limit{Events: 60, Window: 2 * time.Minute, Burst: 1}})
		late := n.rule(limiter.Rule{ID: 2, Zone: n.Open("b"), Limit: limiter.Limit{Events: 60, Window: 4 * time.Minute, Burst: 1}})
		for _, r := range []*limiter.Rule{soon, late} {
			n.allowed(r, r.Zone.Name(), 1, limiter.FromStore)
			n.denied(r, r.Zone.Name(), 1, limiter.FromStore)
		}
		var requested []*limiter.Rule
		n.lender.decide(func(requests []limiter.LeaseRequest) (fate, time.Duration) {
			requested = append(requested, requests[0].Rule)
			return answered, rtt
		})
		for _, step := range []struct {
			wait time.Duration
			want []*limiter.Rule
		}{
			{2100 * time.Millisecond, []*limiter.Rule{late}},       // late denies
			{2100 * time.Millisecond, []*limiter.Rule{late, soon}}, // both serve
			{time.Hour, []*limiter.Rule{soon, late}},               // both at once
		} {
			time.Sleep(step.wait)
			requested = nil
			n.fails(nil, takeOf(soon, "a", 1), takeOf(late, "b", 1))
			if len(requested) != len(step.want) || requested[0] != step.want[0] || requested[len(requested)-1] != step.want[len(step.want)-1] {
				t.Errorf("after %v: %d requests, want %d in this order", step.wait, len(requested), len(step.want))
			}
		}
	})
}

// TestRememberedDenialsComeFirst takes from several zones, one of which remembers a denial. The
// lender gets no request, and nothing is spent in the other zones.
func TestRememberedDenialsComeFirst(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		a, b, c := n.fixed("a", 1, 1000), n.fixed("b", 2, 1), n.fixed("c", 3, 1000)
		n.warm(a, "key")
		n.allowed(b, "key", 1, limiter.FromStore)
		n.denied(b, "key", 1, limiter.FromStore)
		strict := n.rule(limiter.Rule{ID: 4, Zone: n.Open("c"), Strict: true, Limit: limiter.Limit{Events: 9, Window: time.Hour}})
		received, leased := n.lender.received(), n.leased(a, "key")
		for range 3 {
			takes := []limiter.Take{takeOf(a, "key", 1), takeOf(b, "key", 1), takeOf(c, "key", 1), takeOf(strict, "key", 1)}
			n.fails(nil, takes...)
			if takes[0].Decision.Source != limiter.FromLease || !takes[0].Decision.OK || takes[1].Decision.OK || !takes[2].Decision.OK {
				t.Errorf("takes = %+v, want only the second denied", takes)
			}
			if c, strict := takes[2].Decision.Remaining, takes[3].Decision.Remaining; c != 1000 || strict != 9 {
				t.Errorf("remaining of zones that were not tried = %d and %d, want 1000 and 9", c, strict)
			}
		}
		if got := n.leased(a, "key"); got != leased {
			t.Errorf("leased after denials elsewhere = %d, want %d", got, leased)
		}
		if got := n.lender.received(); got != received {
			t.Errorf("requests for takes that a remembered denial decides = %d, want none", got-received)
		}
		n.checkAccounts(2)
	})
}

// TestStrictZoneComesLast has the lender decide strict zones after everything else. If a strict
// zone denies, the other zones get back what was taken.
func TestStrictZoneComesLast(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		leased, cold := n.fixed("a", 1, 1000), n.fixed("c", 3, 1000)
		strict := []*limiter.Rule{
			n.rule(limiter.Rule{ID: 2, Zone: n.Open("b"), Strict: true, OnOutage: limiter.OutageOpen,
				Limit: limiter.Limit{Events: 2, Window: time.Hour}}),
			n.rule(limiter.Rule{ID: 4, Zone: n.Open("b"), Strict: true, Limit: limiter.Limit{Events: 3, Window: time.Hour}}),
		}
		before := n.warm(leased, "key")
		for i, want := range []bool{true, true, false, false} {
			takes := []limiter.Take{takeOf(strict[0], "key", 1), takeOf(leased, "key", 1), takeOf(strict[1], "key", 1), takeOf(cold, "key", 1)}
			n.fails(nil, takes...)
			for j, ok := range []bool{want, true, true, true} {
				if takes[j].Decision.OK != ok {
					t.Errorf("take %d of zone %d = %+v, want OK %v", i, j, takes[j].Decision, ok)
				}
			}
			if got, want := takes[2].Decision.Remaining, []int64{2, 1, 1, 1}[i]; got != want {
				t.Errorf("take %d: remaining of the other strict zone = %d, want %d", i, got, want)
			}
		}
		time.Sleep(time.Second) // the denial is no longer remembered
		n.lender.decide(func(requests []limiter.LeaseRequest) (fate, time.Duration) {
			if requests[0].Rule.Strict {
				return lostRequest, 0
			}
			return answered, rtt
		})
		n.fails(errCut, takeOf(strict[0], "key", 1), takeOf(leased, "key", 1)) // the lease stays spent
		n.checkAccounts(4)
		n.waitForReturns()
		n.checkUsed(strict[0], "key", 2)
		n.checkUsed(strict[1], "key", 2)
		n.checkUsed(leased, "key", before+3)
		n.checkUsed(cold, "key", 2)
	})
}

// TestOneZoneFails fails the take of one zone. What the other takes have taken stays consumed,
// unless nobody waits for the decision any more.
func TestOneZoneFails(t *testing.T) {
	for _, f := range []fate{lostRequest, silence} {
		inBubble(t, Options{}, func(t *testing.T, n node) {
			leased, cold, cut := n.fixed("a", 1, 1000), n.fixed("b", 2, 1000), n.fixed("c", 3, 1000)
			before := n.warm(leased, "key")
			n.lender.decide(func(requests []limiter.LeaseRequest) (fate, time.Duration) {
				if string(requests[0].Key) == "cut" {
					return f, rtt
				}
				return answered, rtt
			})
			want := errCut
			if f == silence {
				want = ErrTimeout
			}
			takes := []limiter.Take{takeOf(leased, "key", 3), takeOf(cold, "key", 5), takeOf(cut, "cut", 1)}
			n.fails(want, takes...)
			for i, e := range []error{nil, nil, want} {
				if k := takes[i]; k.Err != e || e == nil && !k.Decision.OK {
					t.Errorf("take %d = %+v, want it allowed or the error %v", i, k, e)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(rtt/2, cancel)
			if err := n.Take(ctx, n.options.Clock(), takes); err != context.Canceled {
				t.Errorf("take that nobody waits for = %v, want %v", err, context.Canceled)
			}
			n.waitForReturns()
			n.checkUsed(leased, "key", before+3)
			n.checkUsed(cold, "key", 5)
		})
	}
}

// TestDenialWinsOverSilence has one zone deny while another zone gets no reply. The denial does not
// wait for the timeout, and what the other takes have taken is given back.
func TestDenialWinsOverSilence(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		silent, wide, narrow := n.fixed("a", 1, 10), n.fixed("b", 2, 1000), n.fixed("c", 3, 1)
		n.lender.decide(func(requests []limiter.LeaseRequest) (fate, time.Duration) {
			switch requests[0].Rule {
			case silent:
				return silence, rtt
			case wide:
				return answered, 3 * rtt / 2
			}
			return answered, rtt
		})
		takes := []limiter.Take{takeOf(silent, "silent", 1), takeOf(wide, "wide", 3), takeOf(narrow, "narrow", 2)}
		if took := n.fails(nil, takes...); took != 2*rtt {
			t.Errorf("a take that is denied after %v took %v, want as long again", rtt, took)
		}
		for i, ok := range []bool{true, true, false} {
			if d := takes[i].Decision; d.OK != ok || d.Remaining != d.Limit {
				t.Errorf("take %d = %+v, want OK %v with all remaining", i, takes[i], ok)
			}
		}
		if took := n.fails(nil, takes...); took != 0 {
			t.Errorf("a take whose denial is remembered took %v, want 0", took)
		}
		n.waitForReturns()
		n.checkUsed(wide, "wide", 0)
		n.checkUsed(narrow, "narrow", 0)
	})
}
