package storetest

import (
	"fmt"
	"testing"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// testSeveral checks that takes of several zones are all or nothing.
func testSeveral(t *testing.T, open opener) {
	for _, algorithm := range algorithms {
		t.Run(algorithm.name, func(t *testing.T) {
			s, zones := open(t, "user", "tenant", "global")
			user := perMinute(t, 1, zones["user"], algorithm.Algorithm, 3)
			tenant := perMinute(t, 2, zones["tenant"], limiter.Algorithm{Kind: limiter.FixedWindow}, 5)
			global := perMinute(t, 3, zones["global"], limiter.Algorithm{}, 100)
			request := func(name string, cost int64) []limiter.Decision {
				t.Helper()
				return takeAll(t, s, start, newTake(global, "", cost), newTake(tenant, "acme", cost), newTake(user, name, cost))
			}
			check := func(what string, got []limiter.Decision, ok [3]bool, remaining [3]int64) {
				t.Helper()
				for i, d := range got {
					if d.OK != ok[i] || d.Remaining != remaining[i] {
						t.Errorf("%s: decision %d: %+v, want OK %v with %d remaining", what, i, d, ok[i], remaining[i])
					}
				}
			}
			check("alice", request("alice", 2), [3]bool{true, true, true}, [3]int64{98, 3, 1})
			check("alice above her limit", request("alice", 2), [3]bool{true, true, false}, [3]int64{98, 3, 1})
			check("bob", request("bob", 2), [3]bool{true, true, true}, [3]int64{96, 1, 1})
			check("carol above the tenant's", request("carol", 2), [3]bool{true, false, true}, [3]int64{96, 1, 3})
			check("alice above both", request("alice", 2), [3]bool{true, false, false}, [3]int64{96, 1, 1})
			check("alice's last", request("alice", 1), [3]bool{true, true, true}, [3]int64{95, 0, 0})

			remains(t, s, start, user, "carol", 3)
			remains(t, s, start, global, "", 95)
		})
	}
	t.Run("peek", func(t *testing.T) { testPeekOfSeveral(t, open) })
	t.Run("many", func(t *testing.T) { testMany(t, open) })
}

func testPeekOfSeveral(t *testing.T, open opener) {
	s, zones := open(t, "a", "b")
	a := perMinute(t, 1, zones["a"], limiter.Algorithm{}, 1)
	b := perMinute(t, 2, zones["b"], limiter.Algorithm{}, 9)
	allowed(t, s, start, a, "x", 1, 0)
	takes := []limiter.Take{newTake(a, "x", 1), newTake(b, "y", 1)}
	if err := s.Peek(t.Context(), start, takes); err != nil {
		t.Fatal(err)
	}
	if d := takes[0].Decision; d.OK || d.Remaining != 0 || d.Limit != 1 {
		t.Errorf("peek of the exhausted key: %+v, want a denial of limit 1 with 0 remaining", d)
	}
	if d := takes[1].Decision; !d.OK || d.Remaining != 9 || d.Limit != 9 {
		t.Errorf("peek of the fresh key: %+v, want OK of limit 9 with 9 remaining", d)
	}
}

// testMany takes more keys at once than stores expect.
func testMany(t *testing.T, open opener) {
	const n = 40
	s, zones := open(t, zone)
	var takes []limiter.Take
	for i := range n {
		takes = append(takes, newTake(perMinute(t, uint32(i), zones[zone], limiter.Algorithm{}, 2), fmt.Sprint("key", i%7), 1))
	}
	for _, remaining := range []int64{1, 0} {
		for i, d := range takeAll(t, s, start, takes...) {
			if !d.OK || d.Remaining != remaining {
				t.Errorf("take %d of %d: %+v, want OK with %d remaining", i, n, d, remaining)
			}
		}
	}
	refund(t, s, start, takes[0].Rule, "key0", 1, takes[0].Decision)
	denials := 0
	for i, d := range takeAll(t, s, start, takes...) {
		if !d.OK {
			denials++
		}
		if i == 0 && !d.OK {
			t.Errorf("the first of %d takes is denied, want OK: it has an event left", n)
		}
	}
	if denials == 0 { // a store may answer before it knows of all of them
		t.Errorf("none of %d takes is denied, want all but the first", n)
	}
	for i := 1; i < n; i++ {
		if d := takeAll(t, s, start, takes[i])[0]; d.OK {
			t.Errorf("take %d of %d, alone: OK, want a denial", i, n)
		}
	}
	remains(t, s, start, takes[0].Rule, "key0", 1)
}
