package lease

import (
	"fmt"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// outageRule returns a rule with an outage mode.
func outageRule(t *testing.T, a limiter.Algorithm, l limiter.Limit, mode limiter.OutageMode) *limiter.Rule {
	t.Helper()
	r, err := limiter.NewRule(limiter.Rule{Algorithm: a, Limit: l, OnOutage: mode})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestTakeInOutageLocally takes from the local bucket of one of two nodes. The bucket has 30
// events, or what was known to be left if that is less, and gets one event in 2 seconds.
func TestTakeInOutageLocally(t *testing.T) {
	const now, at, probe = 1000 * sec, 6000 * sec, sec
	for _, algorithm := range []limiter.Algorithm{bucket, fixed, sliding(4), slidingWindowLog} {
		r := outageRule(t, algorithm, limiter.Limit{Events: 60, Window: time.Minute}, limiter.OutageLocal)
		take := func(a account, what string, at instant, cost int64, ok bool, left int64, retry instant) {
			t.Helper()
			var d limiter.Decision
			a.takeInOutage(r, at, cost, 2, at+probe, &d)
			if d.OK != ok || d.Remaining != left || d.Source != limiter.FromOutage || d.Limit != 60 ||
				fromCaller(d.At) != at || fromCaller(d.RetryAt) != retry {
				t.Errorf("%v, %s: %+v, want OK %v with %d remaining, retry at %d", algorithm, what, d, ok, left, retry)
			}
		}
		a := newAccount()
		take(a, "nothing is known", now, 29, true, 1, now)
		take(a, "one is left", now+sec, 2, false, 1, now+2*sec)
		take(a, "one has accrued", now+2*sec, 2, true, 0, now+2*sec)
		take(a, "nothing is left", now+3*sec, 3, false, 0, now+8*sec)
		take(a, "more than the bucket holds", now+3*sec, 31, false, 0, now+3*sec+probe)
		take(a, "more than the limit", now+3*sec, 61, false, 0, never)
		take(a, "the bucket is full", now+1000*sec, 30, true, 0, now+1000*sec)
		a.undoInOutage(30)
		take(a, "that is undone", now+1000*sec, 30, true, 0, now+1000*sec)
		if a.idle(r, now+1030*sec, 1, 2) || !a.idle(r, now+1100*sec, 1, 2) {
			t.Errorf("%v: idle %v and %v, want it kept for a window",
				algorithm, a.idle(r, now+1030*sec, 1, 2), a.idle(r, now+1100*sec, 1, 2))
		}
		if _, evictable := a.evictionCost(r, now+1001*sec, true); evictable {
			t.Errorf("%v: an account with an empty bucket can be evicted", algorithm)
		}

		a = accountAfter(r, now, at, 55, 0)
		take(a, "five were left", now, 4, true, 1, now)
		take(a, "one is left", now, 1, true, 0, now)
		take(a, "nothing is left", now, 1, false, 0, now+2*sec)

		a.request(r, now+10*sec, 1, 0, new(limiter.LeaseRequest))
		reply := &limiter.LeaseRequest{Rule: r, Incarnation: 1, Need: 1, Served: 1,
			Decision: limiter.Decision{OK: true, At: at + 10*sec, Limit: 60, Remaining: 19}}
		a.applyReply(r, now+10*sec, now+10*sec, reply, 0, false)
		if got := a.served(1); got != 19 {
			t.Errorf("%v: remaining after the outage = %d, want 19, as the store says", algorithm, got)
		}
	}
}

// TestReplyFillsNoLocalBucket has late replies come between takes from the local bucket. The node
// has used its share of 30 events, and the replies may not count them. The node gets its events
// back as fast as without these replies: one in two seconds.
func TestReplyFillsNoLocalBucket(t *testing.T) {
	const now, at = 1000 * sec, 6000 * sec
	for _, algorithm := range []limiter.Algorithm{bucket, fixed, sliding(4), slidingWindowLog} {
		r := outageRule(t, algorithm, limiter.Limit{Events: 60, Window: time.Minute}, limiter.OutageLocal)
		a := newAccount()
		take := func(what string, after instant, cost int64, ok bool) {
			t.Helper()
			var d limiter.Decision
			if a.takeInOutage(r, now+after, cost, 2, now+after+sec, &d); d.OK != ok {
				t.Errorf("%v, %s: %+v, want OK %v", algorithm, what, d, ok)
			}
		}
		reply := func(after instant) {
			a.applyReply(r, now+after, now+after, &limiter.LeaseRequest{Rule: r, Incarnation: 1, Need: 1, Served: 1,
				Decision: limiter.Decision{OK: true, At: at + limiter.Instant(after), Limit: 60, Remaining: 59}}, 0, false)
		}
		take("the share", 0, 30, true)
		for after := instant(0); after < 60*sec; after += 70 * ms {
			reply(after)
			took := after/(2*sec) > (after-70*ms)/(2*sec) && after > 70*ms
			take(fmt.Sprintf("%d ms after it was used", after/ms), after, 1, took)
			if took {
				take("and no more", after, 1, false)
			}
		}
		if idle := a.idle(r, now+100*sec, 1, 2); idle {
			t.Errorf("%v: the account is idle while its bucket is not full", algorithm)
		}
		reply(130 * sec)
		take("a window after all was used", 130*sec, 30, true)
	}
}

// TestTakeInOutageOpenAndClosed takes under an outage mode that admits everything, and under one
// that admits nothing.
func TestTakeInOutageOpenAndClosed(t *testing.T) {
	const now = 1000 * sec
	for _, mode := range []limiter.OutageMode{limiter.OutageOpen, limiter.OutageClosed} {
		r := outageRule(t, bucket, limiter.Limit{Events: 2, Window: time.Minute}, mode)
		a := newAccount()
		for i := range instant(10) {
			retry := now + i
			if mode == limiter.OutageClosed {
				retry += sec
			}
			var d limiter.Decision
			if a.takeInOutage(r, now+i, 1, 4, now+i+sec, &d); d.OK != (mode == limiter.OutageOpen) || fromCaller(d.RetryAt) != retry {
				t.Errorf("take %d, %v: %+v, want a retry at %d", i, mode, d, retry)
			}
			if d.Breach != (mode == limiter.OutageClosed && i == 0) {
				t.Errorf("take %d, %v: breach = %v, want it at the first denial", i, mode, d.Breach)
			}
		}
	}
}

// TestLocalBucketNeverGains takes from an empty local bucket again and again, up to a day after the
// last reply of the store. It admits at most what has accrued, and hardly less.
func TestLocalBucketNeverGains(t *testing.T) {
	for _, test := range []struct {
		limit limiter.Limit
		cost  int64
		every instant
	}{
		{limiter.Limit{Events: 1000, Window: time.Second}, 1, 100},
		{limiter.Limit{Events: 80_000_000, Window: time.Minute}, 1000, 10},
	} {
		const takes = 200_000
		r, window := outageRule(t, fixed, test.limit, limiter.OutageLocal), instant(test.limit.Window.Microseconds())
		for _, after := range []instant{0, window, 3600 * sec, day} {
			a := accountAfter(r, 1000*sec, 6000*sec, 1, 0)
			begin, admitted := 1000*sec+after, int64(0)
			var d limiter.Decision
			a.takeInOutage(r, begin, test.limit.Events/2-1, 2, begin, &d)
			for i := range instant(takes) {
				if a.takeInOutage(r, begin+i*test.every, test.cost, 2, begin, &d); d.OK {
					admitted += test.cost
				}
			}
			most := 1 + test.limit.Events/2*int64(takes*test.every)/int64(window)
			if admitted > most || admitted < most*98/100 {
				t.Errorf("limit of %d, %d s after the reply: admitted = %d, want %d to %d",
					test.limit.Events, after/sec, admitted, most*98/100, most)
			}
		}
	}
}

// TestBreachInOutage has a local bucket deny takes for two and a half windows. The first denial of
// each window is the breach.
func TestBreachInOutage(t *testing.T) {
	const now = 1000 * sec
	r := outageRule(t, fixed, limiter.Limit{Events: 6, Window: time.Minute}, limiter.OutageLocal)
	a, breaches := newAccount(), 0
	for at := instant(now); at < now+150*sec; at += sec {
		var d limiter.Decision
		if a.takeInOutage(r, at, 1, 3, at, &d); d.Breach {
			breaches++
		}
		if d.Breach && d.OK {
			t.Errorf("an admitted take is a breach: %+v", d)
		}
	}
	if breaches != 3 {
		t.Errorf("breaches = %d, want one in each window", breaches)
	}
}

// TestLocalBucketSurvivesLimits takes under two limits in turn. A change of the limit gives no new
// bucket.
func TestLocalBucketSurvivesLimits(t *testing.T) {
	const now = 1000 * sec
	rules := []*limiter.Rule{
		outageRule(t, fixed, limiter.Limit{Events: 60, Window: time.Hour}, limiter.OutageLocal),
		outageRule(t, fixed, limiter.Limit{Events: 80, Window: time.Hour}, limiter.OutageLocal),
	}
	a, admitted := newAccount(), 0
	for i := range 200 {
		var d limiter.Decision
		if a.takeInOutage(rules[i%2], now, 1, 2, now, &d); d.OK {
			admitted++
		}
	}
	if admitted != 30 {
		t.Errorf("admitted = %d, want 30, the bucket of the first take", admitted)
	}
}

// TestIdleInOutage checks that an unused account stays until its local bucket is full.
func TestIdleInOutage(t *testing.T) {
	const now = 1000 * sec
	r := outageRule(t, fixed, limiter.Limit{Events: 60, Window: time.Minute}, limiter.OutageLocal)
	a := newAccount()
	var d limiter.Decision
	a.takeInOutage(r, now, 1, 600, now, &d) // the bucket had one event, and gets one in ten minutes
	if before, after := a.idle(r, now+599*sec, 1, 600), a.idle(r, now+600*sec+1000, 1, 600); before || !after {
		t.Errorf("idle before and after the bucket is full = %v, %v, want false, true", before, after)
	}
}

// TestLeasesInOutage spends events of a lease during an outage, and undoes the take. The local
// bucket does not gain by that.
func TestLeasesInOutage(t *testing.T) {
	const now, at = 1000 * sec, 6000 * sec
	r := outageRule(t, fixed, limiter.Limit{Events: 60, Window: time.Minute}, limiter.OutageLocal)
	a := accountAfter(r, now, at, 0, 4)
	var d limiter.Decision
	a.takeInOutage(r, now, 5, 2, now, &d) // more than the lease has
	for range 100 {
		before := a.remaining
		if !a.take(r, now, 2, &d) || d.Source != limiter.FromLease {
			t.Fatalf("take = %+v, want it from the lease", d)
		}
		a.takeBack(r, now, a.spentSince(before, now), 0)
	}
	if left := a.leftOf(r.InOutage(2), r, now); left != 25 {
		t.Errorf("left of the local bucket = %d, want 25", left)
	}
}

// TestOwe checks that debt is dropped when the window of its newest event has passed, and that it
// is at most one limit.
func TestOwe(t *testing.T) {
	const now, at = 1000 * sec, 6030 * sec // at 30 s after a whole minute
	for _, test := range []struct {
		algorithm limiter.Algorithm
		limit     limiter.Limit
		lasts     instant
	}{
		{fixed, limiter.Limit{Events: 60, Window: time.Minute}, 30 * sec},
		{sliding(4), limiter.Limit{Events: 60, Window: time.Minute}, 60 * sec},
		{slidingWindowLog, limiter.Limit{Events: 60, Window: time.Minute}, 60 * sec},
		{bucket, limiter.Limit{Events: 60, Window: time.Minute}, 60 * sec},
		{bucket, limiter.Limit{Events: 60, Window: time.Minute, Burst: 20}, 20 * sec},
	} {
		r := mustRule(t, test.algorithm, test.limit)
		a := accountAfter(r, now, at, 1, 0)
		owed := func(what string, at instant, want int64) {
			t.Helper()
			before := int64(a.debt)
			if dropped := a.dropPassedDebt(r, at); int64(a.debt) != want || dropped != before-want {
				t.Errorf("%v, %s: owed = %d, %d dropped, want %d", test.algorithm, what, a.debt, dropped, want)
			}
		}
		owed("nothing was admitted", now, 0)
		a.addDebt(r, now, 7)
		owed("the window is not over", now+test.lasts-1, 7)
		owed("the window is over", now+test.lasts, 0)
		if dropped := a.addDebt(r, now+test.lasts, 1000); dropped != 1000-r.Capacity() {
			t.Errorf("%v: dropped of 1000 = %d, want all but one limit", test.algorithm, dropped)
		}
		owed("more than the limit", now+test.lasts, r.Capacity())
		a.reduceDebt(r.Capacity() - 1)
		owed("all but one are paid", now+test.lasts, 1)
		a.reduceDebt(5)
		owed("all are paid", now+test.lasts, 0)
	}
}

// TestOweInSteadyUse has a key use its whole limit in each window of an outage. Its debt is always
// what it used in the last window. A window after the newest take, there is none.
func TestOweInSteadyUse(t *testing.T) {
	const now, at = 1000 * sec, 6000 * sec
	for _, algorithm := range []limiter.Algorithm{sliding(4), slidingWindowLog, bucket} {
		for _, events := range []int64{10, 600, 60_000} {
			r := mustRule(t, algorithm, limiter.Limit{Events: events, Window: time.Minute})
			a, total, dropped := accountAfter(r, now, at, 1, 0), int64(0), int64(0)
			newest := instant(now)
			for ; total < 5*events; total++ {
				newest += instant(60 * sec / events)
				a.noteRequest(r, newest, 1)
				dropped += a.addDebt(r, newest, 1)
				if want := min(total+1, events); int64(a.debt) < want*97/100-1 || int64(a.debt) > want {
					t.Fatalf("%v, limit of %d: owed after %d = %d, want %d", algorithm, events, total+1, a.debt, want)
				}
			}
			if got := dropped + int64(a.debt); got != total {
				t.Errorf("%v, limit of %d: %d are dropped and owed, want %d", algorithm, events, got, total)
			}
			if a.dropPassedDebt(r, newest+60*sec+1000); a.debt != 0 {
				t.Errorf("%v, limit of %d: owed a window later = %d, want 0", algorithm, events, a.debt)
			}
		}
	}
}

// TestOweDuringRequest checks that debt of a window that passes stays while a request is under way,
// which may settle it. Otherwise the reply would settle newer debt.
func TestOweDuringRequest(t *testing.T) {
	const now, at = 1000 * sec, 6000 * sec
	r := mustRule(t, slidingWindowLog, limiter.Limit{Events: 60, Window: time.Minute})
	a := accountAfter(r, now, at, 1, 0)
	a.noteRequest(r, now, 10)
	a.addDebt(r, now, 10)
	a.request(r, now+59*sec, 0, 10, new(limiter.LeaseRequest))
	a.addDebt(r, now+61*sec, 5)
	if a.reduceDebt(10); a.debt != 5 {
		t.Errorf("owed after the reply = %d, want the 5 that were admitted since", a.debt)
	}
}
