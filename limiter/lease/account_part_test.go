package lease

import (
	"math"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// The parts of these tests are of a bucket of 6000 events, which gets one in 10 ms. The request was
// sent at partSent, and its reply came 2 ms later.
const (
	partSent = 1000 * sec
	partAt   = 6000 * sec // when the part was granted, by the clock of the store
	arrived  = partSent + 2*ms
)

// bucketRule returns the rule of the bucket.
func bucketRule(t *testing.T) *limiter.Rule {
	t.Helper()
	return mustRule(t, bucket, limiter.Limit{Events: 6000, Window: time.Minute})
}

// partReply returns a reply that grants a part for ten seconds, while this number of events is
// used.
func partReply(r *limiter.Rule, events, share, used int64) *limiter.LeaseRequest {
	return &limiter.LeaseRequest{
		Rule: r, Incarnation: 7, Granted: events, GrantedShare: share, Expires: partAt + 10*sec,
		Decision: limiter.Decision{OK: true, At: partAt, Limit: r.Capacity(), Remaining: r.Capacity() - used},
	}
}

// withPart returns an account with a part, and a demand of rate events per second.
func withPart(r *limiter.Rule, events, share, used int64, rate float64) account {
	a := newAccount()
	a.request(r, partSent, 0, 0, new(limiter.LeaseRequest))
	a.incarnation = 7
	a.applyReply(r, partSent, arrived, partReply(r, events, share, used), 0, false)
	a.recent, a.demand = float32(2*rate), float32(rate*2*float64(r.LeaseTime())/sec)+1
	return a
}

// TestPartAccrues spends a part of 8 events that accrues 50 per second from the arrival of the
// reply on. The part ends ten seconds after the request was sent, less 4 ms by which the clock of
// the node may be too slow.
func TestPartAccrues(t *testing.T) {
	r := bucketRule(t)
	for _, test := range []struct {
		after  int64 // µs from the arrival
		leased int64
	}{
		{0, 8},
		{20 * ms, 8}, // the clock of the node may be too fast
		{20*ms + 20, 9},
		{sec, 57},
		{9992*ms + 999, 507},
		{9993 * ms, 0},
		{3600 * sec, 0},
	} {
		a := withPart(r, 8, 2048, 100, 0)
		if got := a.leased(r, arrived+instant(test.after)); got != test.leased {
			t.Errorf("leased after %d µs = %d, want %d", test.after, got, test.leased)
		}
	}
	a := withPart(r, 8, 2048, 100, 0)
	var d limiter.Decision
	if !a.take(r, arrived+sec, 30, &d) || d.Source != limiter.FromLease || a.leased(r, arrived+sec) != 27 {
		t.Errorf("take of 30 of 57 = %+v, with %d left, want it from the part with 27 left", d, a.leased(r, arrived+sec))
	}
	if a.take(r, arrived+sec, 28, &d) {
		t.Errorf("take of more than is left = %+v, want the store to decide", d)
	}
	if got := a.leased(r, arrived+2*sec); got != 77 {
		t.Errorf("leased a second later = %d, want 77", got)
	}
}

// TestPartAccruesMoreThanFits has a part accrue more events than its account can count. No event is
// spent twice.
func TestPartAccruesMoreThanFits(t *testing.T) {
	r := mustRule(t, bucket, limiter.Limit{Events: limiter.MaxEvents, Window: time.Second})
	a := withPart(r, 8, 2048, 0, 0)
	if got := a.leased(r, arrived+5*sec); got != math.MaxInt32+8 {
		t.Fatalf("leased = %d, want 2^31 + 7", got)
	}
	var d limiter.Decision
	a.take(r, arrived+5*sec, math.MaxInt32+8, &d)
	if got := a.leased(r, arrived+6*sec); !d.OK || got != 0 {
		t.Errorf("leased after a take of all = %d, %+v, want none", got, d)
	}
}

// TestWantPart checks what is requested of a bucket. The events at once suffice for eight takes, or
// for four if the bucket is small, or they are a 500th of a bucket that is nearly full. The share
// is one and a half times the demand, or the demand alone if more than a fifth of the bucket is
// used. A small fleet requests nothing of a bucket that has been scarce for less than half a
// second.
func TestWantPart(t *testing.T) {
	r := bucketRule(t)
	for _, test := range []struct {
		rate                      float64
		used, unit, events, share int64
	}{
		{0, 0, 0, 12, 0},
		{9.95, 0, 1, 12, 612},
		{9.95, 1200, 1, 12, 612},
		{9.95, 1201, 1, 8, 408},
		{9.95, 0, 3, 24, 612},
		{99.5, 0, 1, 12, 4096},
	} {
		a := withPart(r, 8, 0, test.used, test.rate)
		if events, share := a.wantPart(r, partSent, test.unit, 1); events != test.events || share != test.share {
			t.Errorf("%+v: wants %d events and a share of %d, want %d and %d", test, events, share, test.events, test.share)
		}
	}
	for _, test := range []struct{ before, after, lasted, since, nodes, events int64 }{
		{4501, 4501, 400, 99, 8, 0},
		{4501, 4501, 400, 100, 8, 8},
		{4501, 4501, 400, 99, 9, 8},
		{4500, 4501, 500, 99, 8, 0},
		{4501, 4500, 400, 99, 8, 8},
	} {
		a := withPart(r, 8, 0, test.before, 9.95)
		a.noteScarcity(r, a.seenAt+limiter.Instant(test.lasted*ms))
		a.used = test.after
		if events, share := a.wantPart(r, instant(partSent+test.since*ms), 1, int(test.nodes)); events != test.events || share != 51*events {
			t.Errorf("%+v: wants %d events and a share of %d, want %d and %d", test, events, share, test.events, 51*test.events)
		}
	}
	for burst, want := range map[int64]int64{32: 4, 255: 4, 256: 8, 5000: 10} {
		r := mustRule(t, bucket, limiter.Limit{Events: 6000, Window: time.Minute, Burst: burst})
		if events, _ := withPart(r, 4, 0, 0, 1).wantPart(r, partSent, 1, 9); events != want {
			t.Errorf("events of a part of a bucket of %d = %d, want %d", burst, events, want)
		}
	}
	a := withPart(r, 8, 0, 0, 99.5)
	if a.demand = 0; a.demandRate(r) != 0 {
		t.Errorf("demand of a key that was seldom used before = %v, want the smaller average", a.demandRate(r))
	}
}

// TestRequestReturnsPart has a take need more than the part holds. The request returns the whole
// part, and says how many of its events were spent.
func TestRequestReturnsPart(t *testing.T) {
	r, a := bucketRule(t), newAccount()
	var l limiter.LeaseRequest
	a.request(r, partSent, 1, 0, &l)
	if l.Returns != [2]limiter.Return{} || l.Want != 8 || l.Share != 0 {
		t.Errorf("first request = %+v, want it to return nothing and to want eight events without a share", l)
	}
	a = withPart(r, 8, 2048, 100, 0)
	a.take(r, arrived+sec, 30, new(limiter.Decision))
	a.request(r, arrived+sec, 40, 0, &l)
	want := [2]limiter.Return{1: {Events: limiter.Events{At: partAt, N: 8}, Spent: 30, Share: 2048}}
	if l.Returns != want || l.Incarnation != 7 || l.Want != 320 {
		t.Errorf("request = %+v, want it to return %+v to 7, and to want eight takes of 40", l, want)
	}
	if got := a.held(); got != 0 || a.hasPart() {
		t.Errorf("held after the return = %d, want nothing", got)
	}
}

// TestKeepOfPart keeps as many events as takes will probably spend in two round trips, but only of
// those that were granted at once.
func TestKeepOfPart(t *testing.T) {
	r := bucketRule(t)
	for _, test := range []struct {
		rate             float64
		granted, spent   int64
		roundTrip, keeps int64
	}{
		{99.5, 8, 0, 10 * ms, 2},
		{99.5, 8, 0, 25 * ms, 5},
		{99.5, 8, 0, 400, 0}, // takes are sparse
		{99.5, 8, 0, 600, 1},
		{99.5, 8, 0, 200 * ms, 8},
		{99.5, 8, 55, 25 * ms, 2}, // 2 of 57 are left
		{99.5, 8, 57, 25 * ms, 0},
		{99.5, 0, 0, 25 * ms, 0},
		{0, 8, 0, sec, 0},
	} {
		a := withPart(r, test.granted, 2048, 100, test.rate)
		now := instant(arrived + sec)
		a.take(r, now, test.spent, new(limiter.Decision))
		a.taken = 0
		if got := a.keepOfPart(r, now, test.roundTrip); got != test.keeps {
			t.Errorf("%+v: keeps %d", test, got)
		}
	}
}

// TestRefillKeepsPart returns a part in the background, except for three events. These may be spent
// until the part ends, and are returned with the next request.
func TestRefillKeepsPart(t *testing.T) {
	r := bucketRule(t)
	a, now := withPart(r, 8, 2048, 100, 99.5), instant(arrived+sec)
	a.take(r, now, 5, new(limiter.Decision))
	var l limiter.LeaseRequest
	a.requestRefill(r, now, 22*ms, &l) // by then, 0.61 of the demand is left
	kept := a.leased(r, now)
	want := [2]limiter.Return{1: {Events: limiter.Events{At: partAt, N: 8 - kept}, Spent: 5, Share: 2048}}
	if kept != 3 || l.Returns != want || l.Want != 12 || l.Share == 0 {
		t.Errorf("refill = %+v, which keeps %d, want 3 to be kept and %+v to be returned", l, kept, want)
	}
	if got := a.leased(r, now+sec); got != 3 {
		t.Errorf("leased a second later = %d, want 3: what is kept does not accrue", got)
	}
	if got := a.leased(r, arrived+9993*ms); got != 0 {
		t.Errorf("leased when the part has ended = %d, want none", got)
	}
	a.requesting = false
	a.take(r, now, 2, new(limiter.Decision))
	a.request(r, now, 9, 0, &l)
	want = [2]limiter.Return{{Events: limiter.Events{At: partAt, N: 3}, Spent: 2}}
	if l.Returns != want || a.held() != 0 {
		t.Errorf("request = %+v, with %d held, want %+v to be returned", l, a.held(), want)
	}
}

// TestPartIsLow refills a part if less than a sixth of its events at once is left, or if it has
// lasted for 7/8 of its time: 8.744 of 9.993 s.
func TestPartIsLow(t *testing.T) {
	r := bucketRule(t)
	const due = 8743*ms + 875
	for _, test := range []struct {
		rate         float64
		after, spent int64
		want         bool
	}{
		{99.5, 0, 0, false},
		{99.5, 0, 6, false},
		{99.5, 0, 7, true},
		{99.5, 0, 8, true},
		{1, 0, 8, false}, // the next take has a while to come
		{1, due - 1, 0, false},
		{1, due, 0, true},
	} {
		a, now := withPart(r, 8, 0, 100, test.rate), instant(arrived+test.after)
		a.take(r, now, test.spent, new(limiter.Decision))
		if got := a.needsRefill(r, now, 2*ms); got != test.want {
			t.Errorf("%+v: needs a refill = %v", test, got)
		}
	}
	if a := newAccount(); a.needsRefill(r, arrived, 2*ms) {
		t.Error("an account without a part needs a refill")
	}
}

// TestPartIsLookedAfter renews a part in use at 7/8 of its time. A part for which no take comes is
// returned if the bucket is short of events. Otherwise it ends by itself, and is looked after then.
func TestPartIsLookedAfter(t *testing.T) {
	r := bucketRule(t)
	const due, eighth, ended = 8743*ms + 875, 1249*ms + 125, 9993 * ms
	for _, test := range []struct {
		what        string
		rate        float64
		used, after int64
		at          int64 // when the part is looked after, in µs from its arrival
		renews      bool
	}{
		{"in use, and there is plenty", 99.5, 100, 0, due, false},
		{"in use, and there is little", 99.5, 2000, 0, eighth - 2*ms, false},
		{"idle, and there is plenty", 99.5, 100, eighth, due, false},
		{"idle, and there is little", 99.5, 2000, eighth, eighth + 1, true},
		{"idle for less than eight mean gaps", 2, 2000, eighth, 3998 * ms, false},
		{"idle for eight mean gaps", 2, 2000, 3998*ms + 1, 3998*ms + 2, true},
		{"seldom used, and there is plenty", 0.4, 100, due, ended, false},
		{"seldom used, and there is little", 0.4, 2000, due, ended, true},
		{"due, and much was used", 99.5, 100, due, ended, true},
		{"ended", 99.5, 2000, ended, ended + 1, false},
	} {
		a, now := withPart(r, 8, 100, test.used, test.rate), instant(arrived+test.after)
		a.shownAt = 0 // no take has come since the request was sent
		if got := a.shouldRenew(r, now); got != test.renews {
			t.Errorf("%s: is renewed or returned = %v, want %v", test.what, got, test.renews)
		}
		if expired, next := a.nextReturn(r, now); expired || max(next-arrived-instant(test.at), instant(test.at)+arrived-next) > 1 {
			t.Errorf("%s: expired %v, looked after at %d, want false, %d", test.what, expired, next-arrived, test.at)
		}
		a.requesting = true
		if a.shouldRenew(r, now) {
			t.Errorf("%s: is renewed while a request is under way", test.what)
		}
	}
	a := withPart(r, 8, 100, 2000, 99.5)
	a.shownAt = 0
	var l limiter.LeaseRequest
	a.requestRefill(r, arrived+eighth, 25*ms, &l)
	if l.Want != 0 || l.Share != 0 || l.Returns[1].N != 8 || l.Returns[1].Share != 100 || a.held() != 0 {
		t.Errorf("request for an idle part = %+v, with %d held, want it to return all and to want nothing", l, a.held())
	}
}

// TestDenialWithPart denies a take with a reply that grants a share of the refill. The node admits
// what accrues, and tells clients when that suffices. It asks the store again after two seconds, or
// when the part has ended.
func TestDenialWithPart(t *testing.T) {
	r := bucketRule(t)
	for _, test := range []struct {
		lasts limiter.Instant
		until instant // µs from the arrival
	}{{10 * sec, 2 * sec}, {sec, 997 * ms}} {
		a := newAccount()
		a.request(r, partSent, 1, 0, new(limiter.LeaseRequest))
		a.incarnation = 7
		l := partReply(r, 0, 2048, 6000)
		l.Need, l.Expires = 1, partAt+test.lasts
		l.Decision.OK, l.Decision.RetryAt = false, partAt+5*sec
		a.applyReply(r, partSent, arrived, l, 0, false)
		for _, take := range []struct {
			after, retry instant // µs from the arrival
			ok           bool
		}{
			{0, 20_011, false},
			{20_008, 20_011, false},
			{20_011, 0, true},
			{20_011, 40_019, false},
			{40_016, 40_019, false},
			{40_019, 0, true},
		} {
			var d limiter.Decision
			if !a.take(r, arrived+take.after, 1, &d) || d.OK != take.ok || !take.ok && fromCaller(d.RetryAt) != arrived+take.retry {
				t.Errorf("take after %d µs = %+v, want OK %v, retry %d µs after the reply", take.after, d, take.ok, take.retry)
			}
		}
		if !a.denies(r, arrived+test.until-1, 5000) || a.denies(r, arrived+test.until, 5000) {
			t.Errorf("denies until %d µs after the reply, and then = %v and %v, want true and false", test.until,
				a.denies(r, arrived+test.until-1, 5000), a.denies(r, arrived+test.until, 5000))
		}
	}
}
