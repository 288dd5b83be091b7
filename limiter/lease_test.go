package limiter

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// TestLeaseLengths checks how long the leases of a rule last, by which slots a store accounts for
// them, and how much credit a node has.
func TestLeaseLengths(t *testing.T) {
	for _, test := range []struct {
		name string
		rule Rule

		leases       bool
		slot, lasts  int64 // µs
		nodes        int
		credit, most int64 // of each node, and the most that all nodes together may admit in a window
	}{
		{
			"bucket: the slots are what the overshoot pays for, and no credit is left",
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

// begins is when tests begin whose instant does not matter.
const begins = Instant(1_800_000_000 * sec)

func mustNew(r Rule) *Rule {
	made, err := NewRule(r)
	if err != nil {
		panic(err)
	}
	return made
}

// oneOf returns one of choices.
func oneOf[T any](r *rand.Rand, choices ...T) T { return choices[r.IntN(len(choices))] }

// TestTimeFor has events accrue for exactly as long as they take.
func TestTimeFor(t *testing.T) {
	for _, limit := range []Limit{
		{Events: 7, Window: time.Minute}, {Events: MaxEvents, Window: time.Second}, {Events: 1, Window: MaxWindow},
	} {
		r := mustRule(t, bucket, limit)
		for _, events := range []int64{1, 3, 1000} {
			us := r.TimeFor(events)
			before, _ := r.Accrue(us - 1)
			if then, _ := r.Accrue(us); before >= events || then < events {
				t.Errorf("%v: accrued before %d µs and then = %d and %d, want %d then", limit, us, before, then, events)
			}
		}
	}
	if got := mustRule(t, bucket, Limit{Events: 1, Window: MaxWindow}).TimeFor(MaxEvents); got != math.MaxInt64 {
		t.Errorf("time for more than an instant holds = %d, want %d", got, int64(math.MaxInt64))
	}
}
