package limiter

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/racetest"
)

// TestHistories plays random histories of takes, refunds, changed limits and clocks that step back,
// on limits from tiny to huge. It checks every decision against the reference and against what
// doc.go guarantees.
func TestHistories(t *testing.T) {
	histories, calls := 25, 120
	if racetest.Enabled { // the race detector finds nothing here: no count starts a goroutine
		histories = 5
	}
	for _, a := range every {
		t.Run(a.name, func(t *testing.T) {
			for seed := range histories {
				h := newHistory(a.Algorithm, uint64(seed))
				for i := range calls {
					if err := h.call(); err != nil {
						t.Fatalf("seed %d, call %d, %+v at %d: %v", seed, i, h.rule.Limit, h.now, err)
					}
				}
			}
		})
	}
}

// A history is one random sequence of calls.
type history struct {
	*rand.Rand
	rule     *Rule
	lastRule *Rule // the rule of the last call
	count    Count
	ref      *reference
	now      Instant
	last     Decision
	taken    []refundable
}

func newHistory(a Algorithm, seed uint64) *history {
	h := &history{Rand: rand.New(rand.NewPCG(seed, 42)), count: NewCount(a), ref: newReference(a)}
	h.now = Instant(h.Int64N(4_000_000_000 * sec))
	h.rule = h.randomRule(a)
	return h
}

// A refundable is a take that may be refunded.
type refundable struct {
	seen Events // what was consumed right after the take
	cost int64
}

// pick returns one of choices.
func pick[T any](h *history, choices ...T) T { return choices[h.IntN(len(choices))] }

func (h *history) randomRule(a Algorithm) *Rule {
	l := Limit{
		Events: pick[int64](h, 1, 2, 3, 5, 10, 99, 100, 1_000, 1_000_003, 999_999_999_989, MaxEvents),
		Window: pick(h, MinWindow, 997*time.Millisecond, time.Second, 1_000_003*time.Microsecond, 13*time.Second,
			time.Minute, time.Hour, 400*24*time.Hour, MaxWindow),
		Burst: pick[int64](h, 0, 0, 1, 7, 150, 1_000_000, MaxEvents),
	}
	r, err := NewRule(Rule{Algorithm: a, Limit: l})
	if err != nil {
		panic(err)
	}
	return r
}

// move lets time pass, or the clock step back.
func (h *history) move() {
	window := h.rule.window
	var to Instant
	switch h.IntN(12) {
	case 0, 1, 2: // no time passes
		to = h.now
	case 3:
		to = h.now + Instant(h.Int64N(3))
	case 4, 5:
		to = h.now + Instant(h.Int64N(1+window/h.rule.Limit.Events*2))
	case 6, 7:
		to = h.now + Instant(h.Int64N(window))
	case 8:
		to = h.now + Instant(h.Int64N(3*window))
	case 9: // to an instant of the last decision, or next to it
		to = pick(h, h.last.RetryAt, h.last.ResetAt) + Instant(h.Int64N(3)-1)
	case 10: // a late reading
		to = h.now - Instant(h.Int64N(LateReading+1))
	case 11: // a step back
		to = h.now - LateReading - Instant(h.Int64N(3*window))
	}
	if to > 0 && to < 1<<60 {
		h.now = to
	}
}

// randomCost returns a cost that is often small, and now and then more than is left or more than
// the limit.
func (h *history) randomCost() int64 {
	limit := h.rule.Capacity()
	return pick(h, 1, 1, 1, 2, 1+h.Int64N(limit), max(1, h.last.Remaining), h.last.Remaining+1, limit, limit+1)
}

// call makes one random call.
func (h *history) call() error {
	h.move()
	if h.IntN(25) == 0 {
		h.rule = h.randomRule(h.rule.Algorithm)
	}
	if len(h.taken) > 0 && h.IntN(6) == 0 {
		i := h.IntN(len(h.taken))
		refunded := h.taken[i]
		h.taken = slices.Delete(h.taken, i, i+1)
		h.count.Refund(h.rule, h.now, refunded.seen, refunded.cost)
		h.ref.refundTake(h.rule, h.now, refunded.seen, refunded.cost)
	}
	return h.take(h.randomCost())
}

// take takes cost events and checks all that must hold after that.
func (h *history) take(cost int64) error {
	before, moved := clone(h.count), h.moved()
	peeked := h.count.Peek(h.rule, h.now, cost)
	afterPeek := clone(h.count)
	d := h.count.Take(h.rule, h.now, cost)
	h.last = d

	if after := d; d.OK {
		after.Remaining += cost
		after.ResetAt = peeked.ResetAt
		if peeked != after {
			return fmt.Errorf("peek of %d = %+v, and then take = %+v", cost, peeked, d)
		}
	} else if peeked != d {
		return fmt.Errorf("peek of %d = %+v, and then denied take = %+v", cost, peeked, d)
	}
	if want := h.ref.take(h.rule, h.now, cost); d != want {
		return fmt.Errorf("take of %d:\n got %+v\nwant %+v as the reference", cost, d, want)
	}
	if err := checkBounds(d, h.rule); err != nil {
		return err
	}
	if !reflect.DeepEqual(afterPeek, before) {
		return fmt.Errorf("peek: count is %+v, want %+v as before it", afterPeek, before)
	}
	if !d.OK && !moved && !reflect.DeepEqual(h.count, before) {
		return fmt.Errorf("denied take of %d: count is %+v, want %+v as before it", cost, h.count, before)
	}
	if d.OK && !moved {
		if err := h.checkRefund(before, d, cost); err != nil {
			return fmt.Errorf("take of %d and refund: %w", cost, err)
		}
	}
	if d.OK {
		h.taken = append(h.taken, refundable{d.Seen(), cost})
		h.lastRule = h.rule
	}
	if err := checkRetry(h.count, h.rule, cost, d); err != nil {
		return err
	}
	return checkReset(h.count, h.rule, d)
}

// moved reports whether the next call may move the consumption into other windows, because the rule
// differs from that of the last consumed take or because the clock was set back.
func (h *history) moved() bool { return h.rule != h.lastRule || h.now < h.ref.at-LateReading }

// checkRefund checks that a refund undoes the take of cost events with the decision d if nothing
// happens in between.
func (h *history) checkRefund(before Count, d Decision, cost int64) error {
	r := h.rule
	for _, age := range []int64{0, 1, r.window / r.Limit.Events, r.window / 7, r.window, 2 * r.window} {
		now := max(h.now, d.At+Instant(age))
		after := clone(h.count)
		after.Refund(r, now, d.Seen(), cost)
		if err := h.sameFrom(now, before, after); err != nil {
			return fmt.Errorf("%d µs old: %w", age, err)
		}
	}
	return nil
}

// sameFrom checks that two counts decide alike from now on.
func (h *history) sameFrom(now Instant, a, b Count) error {
	for _, after := range []int64{0, 1, h.rule.window / 7, h.rule.window, 2 * h.rule.window} {
		for _, cost := range []int64{1, h.rule.Capacity()} {
			now := now + Instant(after)
			got, want := clone(b).Peek(h.rule, now, cost), clone(a).Peek(h.rule, now, cost)
			if got != want {
				return fmt.Errorf("%d µs later, cost %d:\n got %+v\nwant %+v", after, cost, got, want)
			}
		}
	}
	return nil
}

// checkBounds checks what holds for every decision.
func checkBounds(d Decision, r *Rule) error {
	switch {
	case d.Limit != r.Capacity():
		return fmt.Errorf("limit = %d, want %d", d.Limit, r.Capacity())
	case d.Remaining < 0 || d.Remaining > d.Limit:
		return fmt.Errorf("remaining = %d, want 0 to %d", d.Remaining, d.Limit)
	}
	return nil
}

// checkRetry checks that the take of cost events with the decision d succeeds at d.RetryAt and not
// a microsecond earlier.
func checkRetry(c Count, r *Rule, cost int64, d Decision) error {
	if d.OK || d.RetryAt == Never {
		return nil
	}
	if early := clone(c).Peek(r, d.RetryAt-1, cost); early.OK {
		return fmt.Errorf("take of %d a microsecond before retry = %+v, want a denial", cost, early)
	}
	if at := clone(c).Take(r, d.RetryAt, cost); !at.OK {
		return fmt.Errorf("take of %d at retry = %+v, want OK", cost, at)
	}
	return nil
}

// checkReset checks that the full limit is left at d.ResetAt and not a microsecond earlier.
func checkReset(c Count, r *Rule, d Decision) error {
	if d.ResetAt == Never {
		return nil
	}
	if at := clone(c).Peek(r, d.ResetAt, 1); at.Remaining != at.Limit {
		return fmt.Errorf("remaining at reset = %d, want %d", at.Remaining, at.Limit)
	}
	if d.Remaining == d.Limit {
		return nil
	}
	if early := clone(c).Peek(r, d.ResetAt-1, 1); early.Remaining >= early.Limit {
		return fmt.Errorf("remaining a microsecond before reset = %d, want less than %d", early.Remaining, early.Limit)
	}
	return nil
}

// clone returns an independent copy of c.
func clone(c Count) Count {
	switch c := c.(type) {
	case State:
		return slices.Clone(c)
	case *slidingLog:
		d := *c
		d.entries = slices.Clone(c.entries)
		return &d
	}
	panic(fmt.Sprintf("clone of a %T", c))
}
