package lease

import (
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// ampleReply returns a reply that grants a part of an ample bucket for 240 seconds.
func ampleReply(r *limiter.Rule, events, used int64) *limiter.LeaseRequest {
	l := partReply(r, events, 0, used)
	l.Ample, l.Expires = true, partAt+240*sec
	return l
}

// withAmple returns an account with such a part, and a demand of rate events per second.
func withAmple(r *limiter.Rule, events, used int64, rate float64) account {
	a := newAccount()
	a.request(r, partSent, 0, 0, new(limiter.LeaseRequest))
	a.incarnation = 7
	a.applyReply(r, partSent, arrived, ampleReply(r, events, used), 0, false)
	a.recent, a.demand = float32(2*rate), float32(rate*2*float64(r.LeaseTime())/sec)+1
	return a
}

// TestWantOfAmple wants of an ample bucket what takes spend in a minute, or the events of eight
// takes if that is more. It wants no share. It does not matter how much other nodes hold.
func TestWantOfAmple(t *testing.T) {
	r := bucketRule(t)
	for _, test := range []struct {
		rate               float64
		used, unit, events int64
	}{
		{0, 0, 0, 8},
		{0.1, 0, 1, 8},
		{0.1, 0, 3, 24},
		{9.95, 0, 1, 597},
		{9.95, 1201, 1, 597},
		{9.95, 5999, 1, 597},
		{9.95, 0, 100, 800},
		{1e9, 0, 1, maxWant},
	} {
		a := withAmple(r, 8, test.used, test.rate)
		if events, share := a.wantPart(r, partSent, test.unit, 1); events != test.events || share != 0 {
			t.Errorf("%+v: wants %d events and a share of %d, want %d and none", test, events, share, test.events)
		}
		if a.pressed(r) {
			t.Errorf("%+v: an ample bucket is pressed", test)
		}
	}
	small := mustRule(t, bucket, limiter.Limit{Events: 40, Window: time.Minute})
	if events, share := newAccount().wantPart(small, partSent, 1, 1); events != 8 || share != 0 {
		t.Errorf("wants of an unknown bucket = %d and a share of %d, want 8 and none", events, share)
	}
	a := withAmple(r, 600, 0, 99.5)
	var l limiter.LeaseRequest
	if a.requestRefill(r, arrived, 2*ms, &l); l.Want < 5000 || l.Want > 6000 || l.Share != 0 {
		t.Errorf("refill wants %d events and a share of %d, want the events of a minute", l.Want, l.Share)
	}
	a = withAmple(r, 600, 0, 99.5)
	a.addTaken(1000)
	l = limiter.LeaseRequest{Nodes: 100}
	if a.requestRefill(r, arrived, 2*ms, &l); l.Want < 5000 || l.Busy {
		t.Errorf("refill of a busy key wants %d events at once, busy %v, want the events of a minute", l.Want, l.Busy)
	}
	reply := partReply(r, 8, 0, 4501)
	reply.Decision.At++
	if a.applyReply(r, arrived, arrived, reply, 0, false); a.ample || !a.pressed(r) {
		t.Error("the bucket is still ample after a reply that does not say so")
	}
}

// TestAmplePartIsLow refills a part of an ample bucket when it has only what takes spend in two
// round trips, or has lasted for 7/8 of its time.
func TestAmplePartIsLow(t *testing.T) {
	r := bucketRule(t)
	const due = 209_908 * ms // of 239.904 s from the sending, less 2 ms
	for _, test := range []struct {
		rate             float64
		after            int64 // µs from the arrival
		left, roundTrip  int64
		share            uint16
		needsRefill, has bool
	}{
		{99.5, 0, 3, 10 * ms, 0, false, true},
		{99.5, 0, 2, 10 * ms, 0, true, true},
		{99.5, 0, 2, 10 * ms, 1, false, true}, // a sixth of 8 events are not needed
		{99.5, 0, 1, 10 * ms, 1, true, true},
		{1, 0, 1, 2 * ms, 0, false, true},
		{1, 0, 0, 2 * ms, 0, true, true},
		{1, due, 8, 2 * ms, 0, false, true},
		{1, due + 10*ms, 8, 2 * ms, 0, true, true},
		{99.5, 0, 0, 10 * ms, 0, false, false},
	} {
		a := withAmple(r, 8, 100, test.rate)
		a.share, a.remaining[1] = test.share, int32(test.left)
		if !test.has {
			a.returnPart(&limiter.LeaseRequest{Rule: r}, 0)
		}
		if got := a.needsRefill(r, instant(arrived+test.after), test.roundTrip); got != test.needsRefill {
			t.Errorf("%+v: needs a refill = %v", test, got)
		}
	}
}

// TestAmplePartLasts spends a part of an ample bucket for four minutes. It is looked after when it
// is due, is renewed if it is in use, and ends by itself if not.
func TestAmplePartLasts(t *testing.T) {
	r := bucketRule(t)
	for _, rate := range []float64{99.5, 0} {
		a := withAmple(r, 8, 5000, rate)
		_, due := a.nextReturn(r, arrived+60*sec)
		if after := due - arrived; after < 209*sec || after > 211*sec {
			t.Errorf("looked after %d µs after its arrival, want 7/8 of four minutes", after)
		}
		if a.shouldRenew(r, due-1) || a.shouldRenew(r, due) != (rate > 0) {
			t.Errorf("a demand of %v: renewed before and when it is due = %v and %v, want false and %v",
				rate, a.shouldRenew(r, due-1), a.shouldRenew(r, due), rate > 0)
		}
		const ends = partSent + 239_903*ms
		if before, after := a.leased(r, ends-1), a.leased(r, ends+1*ms); before != 8 || after != 0 {
			t.Errorf("leased before and after the end = %d and %d, want 8 and 0", before, after)
		}
		if _, next := a.nextReturn(r, due); next < ends-ms || next > ends+ms {
			t.Errorf("looked after next %d µs after the request was sent, want the end of the part", next-partSent)
		}
	}
}
