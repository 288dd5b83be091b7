package limiter

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// TestLeaseLengths checks how long the leases of a rule last, and by which slots a store accounts
// for them.
func TestLeaseLengths(t *testing.T) {
	for _, test := range []struct {
		name string
		rule Rule

		leases      bool
		slot, lasts int64 // µs
	}{
		{
			"bucket: a quarter of the time in which it fills",
			Rule{Limit: Limit{Events: 6000, Window: time.Minute}},
			true, 10 * sec, 14_900 * ms,
		},
		{
			"bucket of a small burst",
			Rule{Limit: Limit{Events: 6000, Window: time.Minute, Burst: 400}},
			true, 666_666, 899_999,
		},
		{
			"small bucket: half of the time in which it fills",
			Rule{Limit: Limit{Events: 6000, Window: time.Minute, Burst: 255}},
			true, 850_000, 1_175_000,
		},
		{
			"bucket that fills in a second",
			Rule{Limit: Limit{Events: 1000, Window: time.Second}},
			true, 333_332, 416_665,
		},
		{
			"bucket that fills in hours",
			Rule{Limit: Limit{Events: 100_000, Window: time.Hour}},
			true, 40 * sec, 59_900 * ms,
		},
		{
			"bucket that is too small for parts",
			Rule{Limit: Limit{Events: 6000, Window: time.Minute, Burst: 31}},
			false, 0, 10 * sec,
		},
		{
			"log",
			Rule{Algorithm: slidingWindowLog, Limit: Limit{Events: 6000, Window: time.Minute}},
			true, 3750 * ms, 5525 * ms,
		},
		{
			"log of a short window",
			Rule{Algorithm: slidingWindowLog, Limit: Limit{Events: 6000, Window: 319 * time.Millisecond}},
			false, 0, 212_666,
		},
		{
			"fixed window",
			Rule{Algorithm: fixed, Limit: Limit{Events: 6000, Window: time.Minute}},
			true, 0, 10 * sec,
		},
		{
			"fixed window of a second",
			Rule{Algorithm: fixed, Limit: Limit{Events: 6000, Window: time.Second}},
			true, 0, 666_666,
		},
		{
			"sliding window of short parts",
			Rule{Algorithm: sliding(60), Limit: Limit{Events: 6000, Window: time.Minute}},
			true, 0, sec,
		},
		{
			"strict",
			Rule{Algorithm: fixed, Limit: Limit{Events: 6000, Window: time.Minute}, Strict: true},
			false, 0, 10 * sec,
		},
	} {
		r := mustNew(test.rule)
		if r.Leases() != test.leases || r.LeaseSlot() != test.slot || r.LeaseTime() != test.lasts {
			t.Errorf("%s: leases %v, slots of %d, leases of %d, want %v, %d and %d",
				test.name, r.Leases(), r.slot, r.LeaseTime(), test.leases, test.slot, test.lasts)
		}
	}
}

// begins is the instant at which a test begins if that does not matter.
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
