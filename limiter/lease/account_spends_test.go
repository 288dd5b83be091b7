package lease

import (
	"math/rand/v2"
	"testing"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// returned has a return its parts under r, and returns the request.
func returned(a account, r *limiter.Rule) *limiter.LeaseRequest {
	l := new(limiter.LeaseRequest)
	a.requestReturn(r, arrived, l)
	return l
}

// spendAt spends events of a part at the instant at by the store's clock.
func spendAt(t *testing.T, a account, r *limiter.Rule, at, events int64) {
	t.Helper()
	if _, ok := a.spend(r, partSent+instant(at-partAt), events); !ok {
		t.Fatalf("%d events are not leased", events)
	}
}

// TestSpends spends events of a part in several windows, and returns the rest.
func TestSpends(t *testing.T) {
	r := bucketRule(t)
	length := r.OverflowWindow()
	first := partAt / length
	type spend struct{ window, events int64 }
	for _, test := range []struct {
		what   string
		spends []spend
		newest int64 // after the first window
		want   [limiter.OverflowWindows]uint16
	}{
		{"nothing", nil, 0, [limiter.OverflowWindows]uint16{}},
		{"at once", []spend{{0, 5}, {0, 7}}, 0, [limiter.OverflowWindows]uint16{12}},
		{"in the next window", []spend{{0, 5}, {1, 7}}, 1, [limiter.OverflowWindows]uint16{7, 5}},
		{"after a while", []spend{{0, 5}, {0, 1}, {7, 7}, {7, 1}}, 7, [limiter.OverflowWindows]uint16{0: 8, 7: 6}},
		{"in the last window", []spend{{0, 5}, {11, 7}}, 11, [limiter.OverflowWindows]uint16{0: 7, 11: 5}},
		{"long ago", []spend{{0, 5}, {1, 6}, {12, 7}}, 12, [limiter.OverflowWindows]uint16{0: 7, 11: 11}},
		{"all long ago", []spend{{0, 5}, {40, 7}}, 40, [limiter.OverflowWindows]uint16{0: 7, 11: 5}},
		{"more than fits", []spend{{0, 65_530}, {0, 10}, {1, 70_000}, {1, 1}}, 1, [limiter.OverflowWindows]uint16{65_535, 65_535}},
	} {
		a, sum := withAmple(r, 200_000, 0, 0), int64(0)
		for _, s := range test.spends {
			sum += s.events
			spendAt(t, a, r, max(partAt, (first+s.window)*length), s.events)
		}
		want := limiter.Spends{Newest: first + test.newest, Events: test.want}
		if sum == 0 {
			want.Newest = 0
		}
		if l := returned(a, r); l.Spends != want || l.Returns[1].Spent != sum {
			t.Errorf("%s: returns %+v of %d spent, want %+v of %d", test.what, l.Spends, l.Returns[1].Spent, want, sum)
		}
	}
}

// TestSpendsOfOtherParts returns parts whose spends are not told, and parts that follow others.
func TestSpendsOfOtherParts(t *testing.T) {
	r := bucketRule(t)
	other := mustRule(t, bucket, limiter.Limit{Events: 3000, Window: r.Limit.Window})
	next := func(a account) {
		l := ampleReply(r, 9, 0)
		l.Decision.At, l.Expires = l.Decision.At+sec, l.Expires+sec
		a.applyReply(r, partSent+sec, arrived+sec, l, 0, false)
	}
	for _, test := range []struct {
		what string
		do   func(a account)
		rule *limiter.Rule
		sum  int64
	}{
		{"a part without a share", func(account) {}, r, 5},
		{"another limit", func(a account) { a.switchLimit(other) }, other, 0},
		{"another limit and back", func(a account) { a.switchLimit(other); a.switchLimit(r) }, r, 0},
		{"it has ended", func(a account) { a.dropPassed(r, arrived+300*sec) }, r, 0},
		{"another incarnation", func(a account) {
			l := ampleReply(r, 0, 0)
			l.Incarnation = 8
			a.applyReply(r, arrived, arrived, l, 0, false)
		}, r, 0},
		{"the next part", func(a account) { returned(a, r); next(a) }, r, 0},
		{"the next part beside events that were kept", func(a account) {
			a.returnPart(&limiter.LeaseRequest{Rule: r}, 3)
			next(a)
			spendAt(t, a, r, partAt+2*sec, 5) // two of them of the new part
		}, r, 2},
		{"a reply without a grant", func(a account) {
			l := ampleReply(r, 0, 0)
			l.Decision.At += 30 * sec
			a.applyReply(r, partSent+30*sec, arrived+30*sec, l, 0, false)
			spendAt(t, a, r, partAt+30*sec, 2)
		}, r, 7},
	} {
		a := withAmple(r, 20, 0, 0)
		spendAt(t, a, r, partAt, 5)
		test.do(a)
		l, sum := returned(a, test.rule), int64(0)
		for _, n := range l.Spends.Events {
			sum += int64(n)
		}
		if sum != test.sum {
			t.Errorf("%s: tells of %d spent events, want %d: %+v", test.what, sum, test.sum, l)
		}
	}
	a := withPart(r, 8, 2048, 0, 0)
	spendAt(t, a, r, partAt+5*sec, 5)
	if l := returned(a, r); l.Spends != (limiter.Spends{}) {
		t.Errorf("a part with a share tells when events were spent: %+v", l.Spends)
	}
}

// TestSpendsAreNeverTooEarly takes and undoes takes at random, with a node whose clock may be slow.
// At each window, no more events are noted up to it than were spent up to it. If nothing is undone,
// no fewer are noted than were spent before it.
func TestSpendsAreNeverTooEarly(t *testing.T) {
	r := bucketRule(t)
	length := r.OverflowWindow()
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 0))
		slow, undoes := int64(seed%2)*400, seed%3 > 0
		a := withAmple(r, 1_000_000, 0, 0)
		type take struct {
			spent
			window int64
		}
		var takes []take
		for at, ends := int64(0), rng.Int64N(200*sec); at < ends; at += rng.Int64N(1 + ends/50) {
			now := partSent + instant(at-at*slow/1_000_000)
			if undoes && len(takes) > 0 && rng.IntN(3) == 0 {
				i := rng.IntN(len(takes))
				if _, lost := a.takeBack(r, now, takes[i].spent, 0); lost > 0 {
					t.Fatalf("lost %d events", lost)
				}
				takes[i] = takes[len(takes)-1]
				takes = takes[:len(takes)-1]
				continue
			}
			before := a.remaining
			if _, ok := a.spend(r, now, 1+rng.Int64N(9)); !ok {
				t.Fatal("nothing is leased")
			}
			takes = append(takes, take{a.spentSince(before, now), (partAt + at) / length})
		}
		l := returned(a, r)
		truth, sum := make(map[int64]int64), int64(0)
		for _, k := range takes {
			truth[k.window] += k.leases[1].N
			sum += k.leases[1].N
		}
		if sum != l.Returns[1].Spent {
			t.Fatalf("seed %d: %d spent, want %d", seed, l.Returns[1].Spent, sum)
		}
		oldest := l.Spends.Newest - limiter.OverflowWindows + 1
		spent, leftOut, noted := int64(0), int64(0), int64(0)
		for w := int64(partAt / length); w <= l.Spends.Newest; w++ {
			spent += truth[w]
			if w < oldest {
				leftOut = spent
				continue
			}
			if noted += int64(l.Spends.Events[l.Spends.Newest-w]); noted > spent {
				t.Errorf("seed %d: %d events noted up to the window %d, but %d spent", seed, noted, w, spent)
			}
			if before := spent - truth[w] - leftOut; !undoes && noted < before {
				t.Errorf("seed %d: %d events noted up to the window %d, but %d spent before", seed, noted, w, before)
			}
		}
	}
}

// TestUndoOfSpends undoes a take. Its events are taken off the window in which it was, then off
// older ones, and then off newer ones.
func TestUndoOfSpends(t *testing.T) {
	r := bucketRule(t)
	length := r.OverflowWindow()
	for _, test := range []struct {
		of     int64 // the window of the undone take, after the first
		events int64
		want   [limiter.OverflowWindows]uint16
	}{
		{2, 3, [limiter.OverflowWindows]uint16{17, 10, 10}},
		{1, 3, [limiter.OverflowWindows]uint16{20, 7, 10}},
		{1, 12, [limiter.OverflowWindows]uint16{20, 0, 8}},
		{1, 25, [limiter.OverflowWindows]uint16{15}},
		{0, 12, [limiter.OverflowWindows]uint16{20, 8}},
		{-20, 12, [limiter.OverflowWindows]uint16{20, 8}},
	} {
		a := withAmple(r, 100, 0, 0)
		for w := range int64(3) {
			spendAt(t, a, r, max(partAt, (partAt/length+w)*length), 10)
		}
		spendAt(t, a, r, (partAt/length+2)*length, 10)
		undone := spent{incarnation: 7, at: limiter.Instant((partAt/length + test.of) * length)}
		undone.leases[1] = limiter.Events{At: partAt, N: test.events}
		a.takeBack(r, arrived, undone, 0)
		l := returned(a, r)
		if l.Spends.Events != test.want || l.Returns[1].Spent != 40-test.events {
			t.Errorf("%+v: returns %v of %d spent", test, l.Spends.Events, l.Returns[1].Spent)
		}
	}
}
