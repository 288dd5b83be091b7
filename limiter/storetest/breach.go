package storetest

import (
	"testing"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// testBreach checks that only the first denial of a key in a window is marked. A store may wait up
// to two seconds longer than the window before it marks the next one.
func testBreach(t *testing.T, open opener) {
	eachAlgorithm(t, open, func(t *testing.T, s limiter.Store, perMinute func(int64) *limiter.Rule) {
		r := perMinute(3)
		breach := func(at limiter.Instant, key string, want bool) {
			t.Helper()
			d := take(t, s, at, r, key, 3)
			if d.OK || d.Breach != want {
				t.Errorf("take of %q at %s: %+v, want a denial with Breach = %v", key, offset(at), d, want)
			}
		}
		for _, key := range []string{"a", "b"} {
			if d := take(t, s, start, r, key, 1); d.Breach {
				t.Errorf("take of %q: %+v, want no breach of an allowed take", key, d)
			}
			if d := peek(t, s, start, r, key, 3); d.OK || d.Breach {
				t.Errorf("peek of %q: %+v, want a denial that is no breach", key, d)
			}
			breach(start, key, true)
			breach(start, key, false)
		}
		breach(start+1, "a", false)

		// One event per second keeps the key near its limit all the time.
		for at := start + second; at < start+minute; at += second {
			take(t, s, at, r, "a", 1)
			breach(at, "a", false)
		}
		later := start + minute + 2*second
		if d := take(t, s, later, r, "a", 1); d.OK == d.Breach {
			t.Errorf("take of \"a\" at %s: %+v, want a breach if it is denied", offset(later), d)
		} else {
			breach(later, "a", d.OK)
		}
		breach(later, "a", false)
	})
	t.Run("several", func(t *testing.T) { testBreachOfSeveral(t, open) })
}

// testBreachOfSeveral checks that only denying rules are marked.
func testBreachOfSeveral(t *testing.T, open opener) {
	s, zones := open(t, "a", "b")
	a := perMinute(t, 1, zones["a"], limiter.Algorithm{}, 1)
	b := perMinute(t, 2, zones["b"], limiter.Algorithm{}, 9)
	for i, want := range []bool{false, true, false} {
		d := takeAll(t, s, start, newTake(a, "x", 1), newTake(b, "x", 1))
		if d[0].Breach != want || d[1].Breach {
			t.Errorf("take %d: breaches %v and %v, want %v and false", i+1, d[0].Breach, d[1].Breach, want)
		}
	}
}
