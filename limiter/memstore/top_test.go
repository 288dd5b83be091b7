package memstore

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// queryOf returns a query for the counts of rules in a zone. Rules of one ID are in the order of
// their likelihood.
func queryOf(zone limiter.Zone, most int, rules ...*limiter.Rule) *limiter.TopQuery {
	byID := make(map[uint32][]*limiter.Rule)
	for _, r := range rules {
		byID[r.ID] = append(byID[r.ID], r)
	}
	return &limiter.TopQuery{Zone: zone, Most: most, Rules: func(id uint32, _ []byte) []*limiter.Rule { return byID[id] }}
}

// checkTop checks what a query finds at now: key, rule ID, limit, use and whether it is denied.
func checkTop(t *testing.T, s *Store, now limiter.Instant, q *limiter.TopQuery, want ...string) {
	t.Helper()
	var got []string
	for _, k := range s.Top(now, q) {
		text := fmt.Sprintf("%s %d %d %v", k.Key, k.Rule.ID, k.Rule.Limit.Events, k.Use)
		if k.RetryAt != 0 {
			text += " denied"
			if wait := k.RetryAt - now; wait < 0 || wait > 2*60*second {
				t.Errorf("%s for %v", text, time.Duration(wait)*time.Microsecond)
			}
		}
		got = append(got, text)
	}
	if !slices.Equal(got, want) {
		t.Errorf("top =\n\t%q, want\n\t%q", got, want)
	}
}

func TestTop(t *testing.T) {
	for _, a := range []limiter.Algorithm{
		{Kind: limiter.FixedWindow}, {Kind: limiter.SlidingWindow, SubWindows: 2}, {Kind: limiter.SlidingWindow, SubWindows: 60},
		{Kind: limiter.SlidingWindowLog},
	} {
		s := open(t)
		z := s.Open("z")
		limit := func(id uint32, events int64, window time.Duration) *limiter.Rule {
			return newRule(t, limiter.Rule{ID: id, Zone: z, Algorithm: a, Limit: limiter.Limit{Events: events, Window: window}})
		}
		free, pro, endpoint := limit(1, 3, time.Minute), limit(1, 10, time.Hour), limit(2, 100, time.Minute)
		all := queryOf(z, 10, free, pro, endpoint)
		checkTop(t, s, start, all)
		times := func(r *limiter.Rule, key string, n int) {
			for range n {
				take(t, s, start, r, key)
			}
		}
		times(free, "a", 2)
		times(free, "b", 5)
		times(pro, "c", 7)
		times(endpoint, "c", 4)
		times(limit(3, 50, time.Minute), "d", 20)
		checkTop(t, s, start, all, "c 1 10 7", "c 2 100 4", "b 1 3 3 denied", "a 1 3 2")
		checkTop(t, s, start, queryOf(z, 2, free, pro, endpoint), "c 1 10 7", "c 2 100 4")
		checkTop(t, s, start, queryOf(z, 10, endpoint), "c 2 100 4")
		checkTop(t, s, start, queryOf(z, 0, free))
		checkTop(t, s, start, queryOf(open(t).Open("z"), 10, free))
		// Each limit has its own window, and looking at a count does not move it on.
		checkTop(t, s, start+150*second, all, "c 1 10 7")
		checkTop(t, s, start, all, "c 1 10 7", "c 2 100 4", "b 1 3 3 denied", "a 1 3 2")
		// A limit that is not in force any more is taken for the likeliest one.
		checkTop(t, s, start, queryOf(z, 10, limit(1, 5, time.Minute)), "c 1 5 7 denied", "b 1 5 3", "a 1 5 2")
		// A count of another algorithm is not one of the rule.
		bucket := newRule(t, limiter.Rule{ID: 1, Zone: z, Limit: limiter.Limit{Events: 5, Window: time.Minute}})
		checkTop(t, s, start, queryOf(z, 10, bucket))
		if t.Failed() {
			t.Fatalf("%v", a)
		}
		z.Close()
		checkTop(t, s, start, all)
	}
}

// What a bucket lacks is what its key has consumed: steady use below the rate is not seen.
func TestTopOfBuckets(t *testing.T) {
	s := open(t)
	z := s.Open("z")
	r := newRule(t, limiter.Rule{ID: 1, Zone: z, Limit: limiter.Limit{Events: 60, Window: time.Minute}})
	for i := range limiter.Instant(30) {
		take(t, s, start+i*second, r, "steady")
	}
	for range 20 {
		take(t, s, start+29*second, r, "burst")
	}
	checkTop(t, s, start+29*second, queryOf(z, 10, r), "burst 1 60 20", "steady 1 60 1")
	checkTop(t, s, start+39*second, queryOf(z, 10, r), "burst 1 60 10")
}

// Keys that others use meanwhile are found once each, with what they have consumed by then.
func TestTopWhileOthersTake(t *testing.T) {
	s := open(t)
	r := hourly(t, s, 1_000_000, 0)
	q := queryOf(r.Zone, 50, r)
	for i := range 20 {
		for range 100 + i {
			take(t, s, start, r, fmt.Sprintf("heavy %02d", i))
		}
	}
	var taking sync.WaitGroup
	for g := range 2 {
		taking.Go(func() {
			for i := range 20_000 {
				take(t, s, start, r, fmt.Sprint(g, i))
			}
		})
	}
	for range 20 {
		found := s.Top(start, q)
		for i := range 20 {
			if want := fmt.Sprintf("heavy %02d", 19-i); len(found) < 20 || string(found[i].Key) != want || found[i].Use != float64(119-i) {
				t.Fatalf("found %d keys, number %d is %+v, want %s", len(found), i, found[min(i, len(found)-1)], want)
			}
		}
	}
	taking.Wait()
	if found := s.Top(start, q); len(found) != 50 {
		t.Errorf("found %d keys, want 50", len(found))
	}
}

// BenchmarkTop measures a query, and for how long at most a lock is held meanwhile.
//
//	go test -run '^$' -bench Top -benchtime 10x ./limiter/memstore
func BenchmarkTop(b *testing.B) {
	for _, keys := range []int{100_000, 1_000_000} {
		for _, kind := range []limiter.Kind{limiter.TokenBucket, limiter.SlidingWindowLog} {
			b.Run(fmt.Sprintf("keys=%d/algorithm=%v", keys, kind), func(b *testing.B) {
				s := open(b)
				r := newRule(b, limiter.Rule{
					ID: 1, Zone: s.Open("z"), Algorithm: limiter.Algorithm{Kind: kind}, Limit: limiter.Limit{Events: 1000, Window: time.Hour},
				})
				takes := []limiter.Take{{Rule: r, Key: make([]byte, 16), Cost: 1}}
				for i := range keys {
					binary.BigEndian.PutUint64(takes[0].Key, uint64(i))
					takes[0].Cost = int64(i%997 + 1)
					_ = s.Take(b.Context(), start, takes) // it never fails
				}
				q := queryOf(r.Zone, 20, r)
				for b.Loop() {
					if n := len(s.Top(start, q)); n != 20 {
						b.Fatalf("found %d keys, want 20", n)
					}
				}
			})
		}
	}
}
