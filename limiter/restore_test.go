package limiter

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestRestored takes counts apart at random moments, as a store that keeps their numbers elsewhere would, and checks that
// what is put together again answers alike.
func TestRestored(t *testing.T) {
	for _, a := range every {
		t.Run(a.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(3, 9))
			r := mustRule(t, a.Algorithm, Limit{Events: 70, Window: 13 * time.Second})
			c, now := NewCount(a.Algorithm), Instant(1000*sec)
			for range 500 {
				now += Instant(rng.Int64N(3 * sec))
				c.Take(r, now, 1+rng.Int64N(20))
				again := restored(r, now, c)
				for _, at := range []Instant{now, now + sec, now + 7*sec, now + 20*sec} {
					got, want := clone(again).Peek(r, at, 30), clone(c).Peek(r, at, 30)
					if got != want {
						t.Fatalf("%d µs after %d:\n got %+v\nwant %+v", at-now, now, got, want)
					}
				}
			}
		})
	}
}

// restored returns a count made from the numbers of c, which has been asked at the instant at.
func restored(r *Rule, at Instant, c Count) Count {
	switch r.Algorithm.Kind {
	case TokenBucket:
		b := bucketIn(c.(State))
		return RestoreTokenBucket(r, at, b.missing, b.part)
	case FixedWindow:
		f := fixedWindowIn(c.(State))
		return RestoreFixedWindow(r, at, f.end, f.used)
	case SlidingWindow:
		w := slidingWindowIn(c.(State))
		newestFirst := slices.Concat(w.counts[w.cur+1:], w.counts[:w.cur+1])
		slices.Reverse(newestFirst)
		return RestoreSlidingWindow(r, at, w.start, newestFirst)
	}
	l := c.(*slidingLog)
	events, before := []Events{{N: 0}}, l.gone
	for i := range l.ring.n {
		e := l.ring.entry(i)
		events = append(events, Events{At: e.at, N: e.upTo - before})
		before = e.upTo
	}
	return RestoreSlidingLog(at, events...)
}
