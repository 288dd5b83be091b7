package limiter

import (
	"math"
	"strings"
	"testing"
	"time"
)

// TestLeaseLengths is about what rules say of leases: how long they last, by what slots a store accounts for them, and how much
// credit a node has.
func TestLeaseLengths(t *testing.T) {
	for _, test := range []struct {
		name string
		rule Rule

		leases       bool
		slot, lasts  int64 // µs
		nodes        int
		credit, most int64 // of each node, and the events of it that all may ever have admitted in a window
	}{
		{
			"bucket: the slots are what the overshoot pays for, and nothing is left of it",
			Rule{Limit: Limit{Events: 6000, Window: time.Minute}, MaxOvershoot: 0.05},
			true, 3 * sec, 4400 * ms, 1, 0, 0,
		},
		{
			"bucket of a small burst: the rest of the overshoot is for credit",
			Rule{Limit: Limit{Events: 6000, Window: time.Minute, Burst: 400}, MaxOvershoot: 0.05},
			true, sec, 1400 * ms, 4, 25, 200,
		},
		{
			"bucket whose slots would be too short",
			Rule{Limit: Limit{Events: 1000, Window: time.Second}, MaxOvershoot: 0.01},
			false, 0, 125 * ms, 1, 5, 10,
		},
		{
			"bucket that may be exceeded by more than it holds",
			Rule{Limit: Limit{Events: 1000, Window: 10 * time.Millisecond, Burst: 100}, MaxOvershoot: 1},
			false, 0, 1250, 1, 50, 100,
		},
		{
			"log",
			Rule{Algorithm: slidingWindowLog, Limit: Limit{Events: 6000, Window: time.Minute}, MaxOvershoot: 0.05},
			true, 2 * sec, 2900 * ms, 15, 10, 300,
		},
		{
			"log of a short window",
			Rule{Algorithm: slidingWindowLog, Limit: Limit{Events: 6000, Window: 599 * time.Millisecond}},
			false, 0, 74875, 1, 0, 0,
		},
		{
			"fixed window",
			Rule{Algorithm: fixed, Limit: Limit{Events: 6000, Window: time.Minute}, MaxOvershoot: 0.01},
			true, 0, 5 * sec, 10, 3, 60,
		},
		{
			"fixed window of a second",
			Rule{Algorithm: fixed, Limit: Limit{Events: 6000, Window: time.Second}},
			true, 0, 125 * ms, 10, 0, 0,
		},
		{
			"sliding window of short parts",
			Rule{Algorithm: sliding(60), Limit: Limit{Events: 6000, Window: time.Minute}},
			true, 0, sec, 10, 0, 0,
		},
		{
			"strict",
			Rule{Algorithm: fixed, Limit: Limit{Events: 6000, Window: time.Minute}, MaxOvershoot: 0.01, Strict: true},
			false, 0, 5 * sec, 1, 0, 0,
		},
	} {
		r := mustNew(test.rule)
		if r.Leases() != test.leases || r.LeaseSlot() != test.slot || r.LeaseTime() != test.lasts {
			t.Errorf("%s: leases %v, slots of %d, leases of %d, want %v, %d and %d",
				test.name, r.Leases(), r.slot, r.LeaseTime(), test.leases, test.slot, test.lasts)
		}
		if got := r.Credit(test.nodes); got != test.credit || 2*got*int64(test.nodes) > test.most {
			t.Errorf("%s: credit of each of %d nodes = %d, want %d, and twice that at most %d of all",
				test.name, test.nodes, got, test.credit, test.most)
		}
	}
}

func TestMaxOvershootBounds(t *testing.T) {
	for _, overshoot := range []float64{-0.01, 1.01, math.NaN()} {
		r, err := NewRule(Rule{Limit: Limit{Events: 1, Window: time.Second}, MaxOvershoot: overshoot})
		if err == nil || !strings.Contains(err.Error(), "max overshoot") {
			t.Errorf("rule of max overshoot %v = %v, %v, want an error that names it", overshoot, r, err)
		}
	}
}

// TestSlotsOfAnotherLength is about leases that were lent in slots of another length, as the limit was another: they are told from
// what is lent now, and count for as long as they can be spent.
func TestSlotsOfAnotherLength(t *testing.T) {
	var s leaseSlots
	s.begin(100, 10) // [100, 110)
	s.open += 7
	s.begin(105, 1000)
	if s.out() != 7 || s.before != 7 || s.ends < 120 {
		t.Errorf("slots = %+v, want 7 out, lent before, in a slot that ends when they do, at 120, or later", s)
	}
	s.open += 5
	if got := s.back(7, 100); got != 7 || s.open != 5 {
		t.Errorf("back of what was lent before = %d, and %d are out of what is lent now, want 7 and 5", got, s.open)
	}
	if s.rotate(); s.out() != 5 || s.back(9, 105) != 5 {
		t.Errorf("slots after the turn = %+v, want 5 out that can come back", s)
	}
}

// TestLendSeveralRules is about loans of one call: when one of them is denied, nothing is served or lent of any. Their debts are
// debited, and what they give back is taken.
func TestLendSeveralRules(t *testing.T) {
	const now = 1020 * sec
	wide := mustNew(Rule{ID: 1, Algorithm: fixed, Limit: Limit{Events: 100, Window: time.Minute}})
	narrow := mustNew(Rule{ID: 2, Algorithm: fixed, Limit: Limit{Events: 1, Window: time.Minute}})
	ledgers := []*Ledger{NewLedger(fixed), NewLedger(fixed)}
	lend := func(loans ...LeaseRequest) []LeaseRequest {
		Lend(1, 9, now, ledgers, loans)
		return loans
	}
	l := lend(LeaseRequest{Rule: wide, Need: 2, Want: 16}, LeaseRequest{Rule: narrow, Need: 1})
	if l[0].Served != 2 || l[0].Granted != 12 || l[1].Served != 1 || l[0].Incarnation != 9 {
		t.Fatalf("loans = %+v, want 2 served and 12 lent of the first, 1 served of the second, by run 9", l)
	}
	l = lend(LeaseRequest{Rule: wide, Need: 2, Want: 16, CreditTotal: 3, Incarnation: 9, Returns: [2]Events{{now, 4}}}, LeaseRequest{Rule: narrow, Need: 1})
	for i, want := range []struct {
		ok   bool
		left int64
	}{{true, 100 - 14 + 4 - 3}, {false, 0}} {
		if d := l[i].Decision; l[i].Served != 0 || l[i].Granted != 0 || d.OK != want.ok || d.Remaining != want.left {
			t.Errorf("loan %d, one of which is denied = %+v, want nothing served, OK %v, %d left", i, l[i], want.ok, want.left)
		}
	}
}

// TestUndoInBucket is about an event that is undone after the bucket has refilled in its place: it must not be there twice.
func TestUndoInBucket(t *testing.T) {
	const start = 1020 * sec
	r := mustNew(Rule{Limit: Limit{Events: 100, Window: 10 * time.Second, Burst: 10}})
	for _, test := range []struct {
		name         string
		used, undone int64 // at the start
		after        int64 // µs, when that is undone
		later        int64 // used right before
		left         int64 // after that
		unseen       int64 // the same if the node has not seen what was used at the start
	}{
		{"at once", 10, 4, 0, 0, 4, 4},
		{"while the bucket is empty", 10, 4, 200 * ms, 2, 4, 2},
		{"when it has been full", 4, 4, 500 * ms, 10, 0, 0},
		{"when it has been full for some of the time", 4, 4, 200 * ms, 8, 2, 2},
		{"a fraction before the next event", 4, 4, 299999, 8, 2, 2},
	} {
		for _, seen := range []bool{true, false} {
			g := NewLedger(bucket)
			l := []LeaseRequest{{Rule: r, Need: test.used}}
			Lend(1, 1, start, []*Ledger{g}, l)
			undo, want := LeaseRequest{Rule: r, Incarnation: 1, Cancel: Events{start, test.undone}}, test.unseen
			if seen {
				undo.Seen, want = Events{start, test.used}, test.left
			}
			now := Instant(start + test.after)
			Lend(2, 1, now, []*Ledger{g}, []LeaseRequest{{Rule: r, Need: test.later}})
			l = []LeaseRequest{undo}
			Lend(1, 1, now, []*Ledger{g}, l)
			if got := l[0].Decision.Remaining; got != want {
				t.Errorf("%s, seen %v: left = %d, want %d", test.name, seen, got, want)
			}
		}
	}
}

// begins is when tests begin whose instant does not matter.
const begins = Instant(1_800_000_000 * sec)

func mustNew(r Rule) *Rule {
	made, err := NewRule(r)
	if err != nil {
		panic(err)
	}
	return made
}
