package limiter

import (
	"testing"
	"time"
)

// FuzzCount drives a count with arbitrary bytes and checks what holds for every history: remaining
// is between 0 and the limit, retries and resets are exact, denied takes change nothing, and the
// decisions are those of the reference.
func FuzzCount(f *testing.F) {
	for i := range every {
		f.Add([]byte{byte(i), 9, 0, 59, 20, 4, 0, 0, 0, 0, 4, 1, 3, 1, 0, 0, 20, 2, 2, 99, 0, 59, 16, 0, 0, 3, 0, 0, 4, 0, 0})
		f.Add([]byte{byte(i), 255, 32, 255, 32, 255, 32, 0, 255, 32, 255, 32, 1, 200, 30, 255, 29, 4, 255, 31, 3, 0, 1, 0})
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) > 200 { // the reference goes through everything for every call
			script = script[:200]
		}
		next := func() int64 {
			if len(script) == 0 {
				return 0
			}
			b := script[0]
			script = script[1:]
			return int64(b)
		}
		// number returns a number of any magnitude: one byte for its bits, one for their position.
		number := func() int64 { return (next() + 1) << (next() % 33) }

		a := every[next()%int64(len(every))]
		rule := func() *Rule {
			return mustRule(t, a.Algorithm, Limit{
				Events: min(number(), MaxEvents),
				Window: min(max(time.Duration(number())*time.Microsecond, MinWindow), MaxWindow),
				Burst:  min(number()-1, MaxEvents),
			})
		}
		h := &history{rule: rule(), count: NewCount(a.Algorithm), ref: newReference(a.Algorithm), now: 1 << 50}
		for calls := 0; len(script) > 0 && calls < 60; calls++ {
			switch next() % 6 {
			case 0:
				h.now += Instant(number())
			case 1:
				h.now = max(1, h.now-Instant(number()))
			case 2:
				h.rule = rule()
			case 3:
				if n := int64(len(h.taken)); n > 0 {
					refunded := h.taken[next()%n]
					h.count.Refund(h.rule, h.now, refunded.seen, refunded.cost)
					h.ref.refundTake(h.rule, h.now, refunded.seen, refunded.cost)
				}
			case 4:
				if h.last.RetryAt < 1<<60 && h.last.RetryAt > h.now {
					h.now = h.last.RetryAt
				}
			}
			if err := h.take(number()); err != nil {
				t.Fatalf("call %d, %v of %+v at %d: %v", calls, a.name, h.rule.Limit, h.now, err)
			}
		}
	})
}
