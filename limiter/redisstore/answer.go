package redisstore

import (
	"fmt"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// An answer is what a call said about the takes of a group, whose decisions have been written to them.
type answer struct {
	allowed bool               // all of them; then they were consumed, unless it was a peek
	foreign int64              // values that were not ours
	counts  []limiter.Restored // after that
}

// read reads the reply of take.lua and writes the decisions.
func read(reply any, g group, consume bool) (answer, error) {
	r, err := newReader(reply)
	if err != nil {
		return answer{}, err
	}
	a := answer{allowed: true, counts: make([]limiter.Restored, len(g))}
	for i, k := range g {
		k.Decision = limiter.Decision{OK: r.next() == 1, Breach: r.next() == 1, At: limiter.Instant(r.next())}
		a.counts[i] = r.count(k.Rule, k.Decision.At)
		a.allowed = a.allowed && k.Decision.OK
	}
	var ok bool
	if a.foreign, ok = r.end(); !ok {
		return answer{}, fmt.Errorf("redisstore: the reply to %d takes is %v, which is not one of take.lua", len(g), reply)
	}
	for i, k := range g {
		d := a.counts[i].Peek(k.Rule, k.Cost)
		if d.Breach = k.Decision.Breach; consume && a.allowed {
			d.OK, d.RetryAt = true, d.At // d is about another such take
		}
		k.Decision = d
	}
	return a, nil
}

// undo makes the decisions of g, which was consumed, such as if it had not been.
func (a answer) undo(g group) {
	for i, k := range g {
		a.counts[i].Cancel(k.Rule, limiter.Events{At: k.Decision.At, N: k.Cost})
		k.Decision = a.counts[i].Peek(k.Rule, k.Cost)
	}
}

// A reader reads the numbers of a reply.
type reader struct {
	rest   []any
	failed bool
}

func newReader(reply any) (*reader, error) {
	list, ok := reply.([]any)
	if !ok {
		return nil, fmt.Errorf("redisstore: the reply is a %T, want a list", reply)
	}
	return &reader{rest: list}, nil
}

// end reads how many values the script has found that were not ours, which is left out when there were none. It reports whether
// all that was read was there, and nothing else.
func (r *reader) end() (foreign int64, ok bool) {
	if len(r.rest) > 0 {
		foreign = r.next()
		r.failed = r.failed || foreign <= 0
	}
	return foreign, !r.failed && len(r.rest) == 0
}

// next returns the next number; failed says that there was none.
func (r *reader) next() int64 {
	if len(r.rest) == 0 {
		r.failed = true
		return 0
	}
	n, ok := r.rest[0].(int64)
	r.failed = r.failed || !ok
	r.rest = r.rest[1:]
	return n
}

// list returns the next list of n numbers.
func (r *reader) list(n int) []int64 {
	numbers := make([]int64, n)
	if len(r.rest) == 0 {
		r.failed = true
		return numbers
	}
	list, _ := r.rest[0].([]any)
	r.rest = r.rest[1:]
	inner := reader{rest: list}
	for i := range numbers {
		numbers[i] = inner.next()
	}
	r.failed = r.failed || inner.failed || len(inner.rest) > 0
	return numbers
}

// leaseSlots returns what is leased, from the reply of slots.lua: see there.
func (r *reader) leaseSlots() limiter.LeaseSlots {
	if len(r.rest) > 0 {
		if b, ok := r.rest[0].(string); ok && len(b) == 20 {
			r.rest = r.rest[1:]
			return limiter.LeaseSlots{
				Ends:     limiter.Instant(number(b[:7])),
				Length:   number(b[7:10]),
				Current:  number(b[10:15]),
				Previous: number(b[15:]),
			}
		}
	}
	r.failed = r.next() != 0 || r.failed
	return limiter.LeaseSlots{}
}

// number returns the number of which these are the bytes, the highest first.
func number(b string) (n int64) {
	for i := range len(b) {
		n = n<<8 | int64(b[i])
	}
	return n
}

// count returns what a key has consumed under a rule, from what the algorithm's file in package lua replies.
func (r *reader) count(rule *limiter.Rule, at limiter.Instant) limiter.Restored {
	switch rule.Algorithm.Kind {
	case limiter.TokenBucket:
		missing, part := r.next(), r.next()
		return limiter.RestoreTokenBucket(rule, at, missing, part, r.leaseSlots())
	case limiter.FixedWindow:
		end, used, leased := r.next(), r.next(), r.next()
		return limiter.RestoreFixedWindow(rule, at, limiter.Instant(end), used, limiter.Instant(leased))
	case limiter.SlidingWindow:
		start, counts, leased := r.next(), r.list(rule.Algorithm.SubWindows+1), r.next()
		return limiter.RestoreSlidingWindow(rule, at, limiter.Instant(start), counts, limiter.Instant(leased))
	default:
		used, newest, first, events := r.next(), r.next(), r.next(), r.next()
		return limiter.RestoreSlidingLog(at, r.leaseSlots(),
			limiter.Events{At: limiter.Instant(first), N: events}, limiter.Events{At: limiter.Instant(newest), N: used - events})
	}
}
