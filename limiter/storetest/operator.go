package storetest

import (
	"sync"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// testOperator checks what operators see of a count and do to it.
func testOperator(t *testing.T, open opener) {
	for _, a := range algorithms {
		t.Run(a.name, func(t *testing.T) {
			for _, test := range []struct {
				name string
				run  func(*operatorTest)
			}{
				{"inspect", testInspect},
				{"add quota", testAddQuota},
				{"newest first", testAddQuotaNewestFirst},
				{"reset", testReset},
				{"promise after reset", testPromiseAfterReset},
				{"concurrent", testConcurrentOperator},
			} {
				t.Run(test.name, func(t *testing.T) {
					s, zones := open(t, zone)
					test.run(&operatorTest{t, s, zones[zone], a.Algorithm})
				})
			}
		})
	}
}

// An operatorTest is a test of one algorithm on a store of its own.
type operatorTest struct {
	*testing.T
	Store
	zone      limiter.Counts
	algorithm limiter.Algorithm
}

func (o *operatorTest) perMinute(events int64) *limiter.Rule {
	o.Helper()
	return perMinute(o.T, 1, o.zone, o.algorithm, events)
}

// inspect returns the count of key.
func (o *operatorTest) inspect(now limiter.Instant, r *limiter.Rule, key string) limiter.CountState {
	o.Helper()
	i, err := o.Inspect(o.Context(), now, r, []byte(key))
	if err != nil {
		o.Fatalf("inspect at %s: %v", offset(now), err)
	}
	return i.Count
}

// has checks that the count of key has consumed the given events and that the rest of the limit
// remains. Its instants must be those of a peek. If a peek repeats a denial, its reset may be rounded
// up to a whole ms.
func (o *operatorTest) has(now limiter.Instant, r *limiter.Rule, key string, consumed int64) {
	o.Helper()
	o.check(now, r, key, o.inspect(now, r, key), consumed)
}

func (o *operatorTest) check(now limiter.Instant, r *limiter.Rule, key string, got limiter.CountState, consumed int64) {
	o.Helper()
	d := peek(o.T, o, now, r, key, 1)
	want := limiter.CountState{
		At: now, Limit: r.Capacity(), Remaining: max(0, r.Capacity()-consumed), Consumed: consumed,
		RetryAt: d.RetryAt, ResetAt: got.ResetAt,
	}
	if early := d.ResetAt - got.ResetAt; got != want || early < 0 || early >= 1000 {
		o.Errorf("count of %q at %s = %+v, want %+v with a reset at %d", key, offset(now), got, want, d.ResetAt)
	}
}

// addQuota adds quota to key and checks how much is consumed after that.
func (o *operatorTest) addQuota(now limiter.Instant, r *limiter.Rule, key string, events, consumed int64) {
	o.Helper()
	got, err := o.AddQuota(o.Context(), now, r, []byte(key), events)
	if err != nil {
		o.Fatalf("add quota at %s: %v", offset(now), err)
	}
	o.check(now, r, key, got, consumed)
}

func (o *operatorTest) reset(now limiter.Instant, r *limiter.Rule, key string) {
	o.Helper()
	if err := o.Reset(o.Context(), now, r, []byte(key)); err != nil {
		o.Fatalf("reset at %s: %v", offset(now), err)
	}
}

// testInspect checks that an inspection shows the count and changes nothing.
func testInspect(o *operatorTest) {
	r, lowered := o.perMinute(10), o.perMinute(4)
	for range 3 {
		o.has(start, r, "key", 0)
	}
	allowed(o.T, o, start, r, "key", 7, 3)
	for range 20 {
		o.has(start, r, "key", 7)
		o.has(start, r, "other", 0)
	}
	o.has(start, lowered, "key", 7)
	allowed(o.T, o, start, r, "key", 3, 0)
	o.has(start, r, "key", 10)
	denied(o.T, o, start, r, "key", 1, 0)
	o.has(start, r, "key", 10)
	later := o.inspect(start, r, "key").ResetAt
	o.has(later, r, "key", 0)
	o.has(later, r, "key", 0)
	allowed(o.T, o, later, r, "key", 10, 0)
	testInspectUnderAnother(o)
}

// testInspectUnderAnother checks that an inspection under another limit than that of the takes changes
// nothing. An operator may not know the tier of the key.
func testInspectUnderAnother(o *operatorTest) {
	perHour := newRule(o.T, limiter.Rule{
		ID: 1, Zone: o.zone, Algorithm: o.algorithm, Limit: limiter.Limit{Events: 10, Window: time.Hour},
	})
	perSecond := newRule(o.T, limiter.Rule{
		ID: 1, Zone: o.zone, Algorithm: o.algorithm, Limit: limiter.Limit{Events: 10, Window: time.Second},
	})
	allowed(o.T, o, start, perHour, "another", 7, 3)
	for _, now := range []limiter.Instant{start + 3*second, start + minute, start - 60*minute} {
		before := o.inspect(now, perHour, "another")
		o.inspect(now, perSecond, "another")
		if after := o.inspect(now, perHour, "another"); after != before {
			o.Errorf("count after an inspection under another limit = %+v, want %+v", after, before)
		}
	}
}

// testAddQuota checks that as many more events can be taken as were added, up to the full limit.
func testAddQuota(o *operatorTest) {
	r := o.perMinute(10)
	o.addQuota(start, r, "key", 5, 0) // nothing is consumed
	allowed(o.T, o, start, r, "key", 10, 0)
	denied(o.T, o, start, r, "key", 1, 0)
	o.addQuota(start+1, r, "key", 3, 7)
	allowed(o.T, o, start+1, r, "key", 2, 1)
	denied(o.T, o, start+1, r, "key", 2, 1)
	o.addQuota(start+1, r, "key", 1_000_000_000, 0)
	allowed(o.T, o, start+1, r, "key", 10, 0)
	denied(o.T, o, start+1, r, "key", 1, 0)

	wide, lowered := o.perMinute(100), o.perMinute(10) // less than half, so that a bucket sets some aside
	allowed(o.T, o, start, wide, "lowered", 15, 85)
	o.addQuota(start, lowered, "lowered", 3, 12)
	denied(o.T, o, start, lowered, "lowered", 1, 0)
	o.addQuota(start, lowered, "lowered", 3, 9)
	allowed(o.T, o, start, lowered, "lowered", 1, 0)
	denied(o.T, o, start, lowered, "lowered", 1, 0)
	o.has(start, wide, "lowered", 10)
}

// testAddQuotaNewestFirst adds quota to a key that has consumed some events long ago and some just now.
// Those that were consumed just now are given back.
func testAddQuotaNewestFirst(o *operatorTest) {
	r := o.perMinute(10)
	early, late := start, start+30*second
	allowed(o.T, o, early, r, "key", 6, 4)
	left := peek(o.T, o, late, r, "key", 1).Remaining
	allowed(o.T, o, late, r, "key", left, 0)
	o.addQuota(late, r, "key", left, 10-left)
	before := o.inspect(late, r, "key")
	if want := peek(o.T, o, late, r, "key", 1); before.Remaining != left || want.Remaining != left {
		o.Errorf("remaining after it was added = %d, want %d", before.Remaining, left)
	}
	gone := early + minute + limiter.Instant(r.SubWindow()) // when the old events have left
	if before.ResetAt > gone {
		o.Errorf("reset after quota was added at %s, want until %s", offset(before.ResetAt), offset(gone))
	}
	allowed(o.T, o, before.ResetAt, r, "key", 10, 0)

	allowed(o.T, o, start, r, "weighed", 10, 0)
	half := start + 90*second // in a sliding window with one sub-window, half of the old events count
	used := o.inspect(half, r, "weighed").Consumed
	o.addQuota(half, r, "weighed", 2, max(0, used-2))
	allowed(o.T, o, half, r, "weighed", 10-max(0, used-2), 0)
	denied(o.T, o, half, r, "weighed", 1, 0)
}

// testReset checks that a key has its full limit again, that nothing from before the reset comes back,
// and that other keys and rules keep their counts.
func testReset(o *operatorTest) {
	r := o.perMinute(10)
	another := perMinute(o.T, 2, o.zone, o.algorithm, 10)
	o.reset(start, r, "key") // nothing is consumed
	o.has(start, r, "key", 0)
	before := allowed(o.T, o, start, r, "key", 10, 0)
	denied(o.T, o, start, r, "key", 1, 0)
	allowed(o.T, o, start, r, "other", 4, 6)
	allowed(o.T, o, start, another, "key", 3, 7)

	o.reset(start, r, "key")
	o.has(start, r, "key", 0)
	o.has(start, r, "other", 4)
	o.has(start, another, "key", 3)
	allowed(o.T, o, start, r, "key", 6, 4)
	refund(o.T, o, start+1, r, "key", 10, before)
	o.has(start+1, r, "key", 6)
	allowed(o.T, o, start+1, r, "key", 4, 0)
	if d := take(o.T, o, start+1, r, "key", 1); d.OK || !d.Breach {
		o.Errorf("the first denial after a reset: %+v, want it denied and marked as the first", d)
	}

	after := start + 2
	o.reset(after, r, "key")
	d := allowed(o.T, o, after+1, r, "key", 10, 0)
	refund(o.T, o, after+1, r, "key", 2, d)
	o.has(after+1, r, "key", 8)

	o.reset(after+second, r, "key")
	o.reset(after, r, "key") // a late reading of the clock
	o.inspect(after+second, r, "key")
	allowed(o.T, o, after+second, r, "key", 10, 0)
	o.reset(start-60*minute, r, "key") // the clock was set back
	allowed(o.T, o, start-60*minute, r, "key", 10, 0)
	denied(o.T, o, start-60*minute, r, "key", 1, 0)
}

// testConcurrentOperator adds quota and inspects while other goroutines take. Exactly as many more
// events are admitted as were added.
func testConcurrentOperator(o *operatorTest) {
	r := o.perMinute(500)
	allowed(o.T, o, start, r, "key", 500, 0)
	var (
		wg    sync.WaitGroup
		added int64
	)
	wg.Go(func() {
		for range 50 {
			if _, err := o.AddQuota(o.Context(), start, r, []byte("key"), 3); err != nil {
				o.Errorf("concurrent add quota: %v", err)
				return
			}
			added += 3
			o.inspect(start, r, "key")
		}
	})
	got := countAllowed(o.T, o, func(int) []limiter.Take { return []limiter.Take{newTake(r, "key", 1)} })
	wg.Wait()
	if left := o.inspect(start, r, "key").Remaining; got+left != added {
		o.Errorf("admitted %d and %d remain, want %d, as were added", got, left, added)
	}
}
