package redisstore

import (
	"fmt"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

// A result is what a call found for the takes of a group. Their decisions are in the takes.
type result struct {
	allowed bool                  // all takes are allowed, and consumed unless the call is a peek
	foreign int64                 // number of values that no script has written
	counts  []limiter.RemoteCount // the counts after the call
}

// readTakes reads the reply of take.lua and writes the decisions.
func readTakes(reply any, g group, consume bool) (result, error) {
	r := newReader(reply)
	a := result{allowed: true, counts: make([]limiter.RemoteCount, len(g))}
	for i, k := range g {
		k.Decision = limiter.Decision{OK: r.next() == 1, Breach: r.next() == 1, At: limiter.Instant(r.next())}
		a.counts[i] = r.count(k.Rule, k.Decision.At)
		a.allowed = a.allowed && k.Decision.OK
	}
	var err error
	if a.foreign, err = r.end("take.lua"); err != nil {
		return result{}, err
	}
	for i, k := range g {
		if consume && a.allowed {
			d := a.counts[i].Peek(k.Rule, k.Cost)
			d.OK, d.RetryAt = true, d.At // d is the decision on a further take of the same cost
			if k.Wait > 0 {
				d.Turn = a.counts[i].Turn(k.Rule)
			}
			k.Decision = d
			continue
		}
		breach := k.Decision.Breach
		k.Decision = a.counts[i].PeekWaiting(k.Rule, k.Cost, k.Wait)
		k.Decision.Breach = breach
	}
	return a, nil
}

// rollBack changes the decisions of g, which was consumed, to those that g has after it is
// refunded.
func (a result) rollBack(g group) {
	for i, k := range g {
		if k.Decision.Turn != 0 {
			a.counts[i].TakeBack(k.Cost)
		} else {
			a.counts[i].Cancel(k.Rule, limiter.Events{At: k.Decision.At, N: k.Cost})
		}
		k.Decision = a.counts[i].PeekWaiting(k.Rule, k.Cost, k.Wait)
	}
}

// readGrants reads the reply of lease_grant.lua and writes the answers. It returns how many values
// were foreign.
func readGrants(c *redisconn.Call, requests []limiter.LeaseRequest) (foreign int64, err error) {
	r := newReader(c.Reply)
	for i := range requests {
		l := &requests[i]
		at := limiter.Instant(r.next())
		l.Served, l.Granted, l.GrantedShare, l.Incarnation = r.next(), r.next(), 0, c.Incarnation
		if l.Rule.Algorithm.Kind == limiter.TokenBucket {
			l.GrantedShare, l.Ample, l.RecalledAt = r.next(), r.next() == 1, limiter.Instant(r.next())
		}
		r.count(l.Rule, at).FillAnswer(l)
	}
	return r.end("lease_grant.lua")
}

// readCount reads the reply of add_quota.lua. It also returns how many values were foreign.
func readCount(reply any, rule *limiter.Rule) (state limiter.CountState, foreign int64, err error) {
	r := newReader(reply)
	count := r.count(rule, limiter.Instant(r.next()))
	if foreign, err = r.end("add_quota.lua"); err != nil {
		return state, 0, err
	}
	return count.State(rule), foreign, nil
}

// A reader reads the items of a reply. If an item is missing or has the wrong type, it returns 0 or
// "" and sets failed.
type reader struct {
	reply  any
	rest   []any
	failed bool
}

func newReader(reply any) *reader {
	list, ok := reply.([]any)
	return &reader{reply: reply, rest: list, failed: !ok}
}

// end reads the number of foreign values, which is left out of the reply if it is 0. It returns an
// error if reading has failed or items are left: then the reply is not one of script.
func (r *reader) end(script string) (foreign int64, err error) {
	if len(r.rest) > 0 {
		foreign = r.next()
		r.failed = r.failed || foreign <= 0
	}
	if r.failed || len(r.rest) > 0 {
		return 0, fmt.Errorf("redisstore: the reply %v is not one of %s", r.reply, script)
	}
	return foreign, nil
}

// item returns the next item, or nil if there is none.
func (r *reader) item() (v any) {
	if len(r.rest) > 0 {
		v, r.rest = r.rest[0], r.rest[1:]
	}
	return v
}

// next returns the next number.
func (r *reader) next() int64 {
	n, ok := r.item().(int64)
	r.failed = r.failed || !ok
	return n
}

// list returns the next list of n numbers.
func (r *reader) list(n int) []int64 {
	numbers, inner := make([]int64, n), newReader(r.item())
	for i := range numbers {
		numbers[i] = inner.next()
	}
	r.failed = r.failed || inner.failed || len(inner.rest) > 0
	return numbers
}

// packed returns the next item, which is a string of n bytes. It returns "" if the item is 0.
func (r *reader) packed(n int) string {
	switch v := r.item().(type) {
	case string:
		if len(v) == n {
			return v
		}
	case int64:
		if v == 0 {
			return ""
		}
	}
	r.failed = true
	return ""
}

// leaseSlots returns the events in leases, from the reply of lease_slots.lua.
func (r *reader) leaseSlots() (s limiter.LeaseSlots) {
	if v := r.packed(20); v != "" {
		s.Ends, s.Length = limiter.Instant(number(v[:7])), number(v[7:10])
		s.Current, s.Previous = number(v[10:15]), number(v[15:])
	}
	return s
}

// parts returns the open parts of a bucket, from the reply of bucket_parts.lua.
func (r *reader) parts() (p limiter.Parts) {
	if v := r.packed(35); v != "" {
		p.Ends, p.Next = limiter.Instant(number(v[:7])), number(v[7:11])
		p.Current = limiter.SlotParts{Shares: number(v[11:13]), Accrues: number(v[13:18]), Events: number(v[18:23])}
		p.Previous = limiter.SlotParts{Shares: number(v[23:25]), Accrues: number(v[25:30]), Events: number(v[30:])}
	}
	return p
}

// number returns the number in the bytes of b, big endian.
func number(b string) (n int64) {
	for i := range len(b) {
		n = n<<8 | int64(b[i])
	}
	return n
}

// count returns what a key has consumed under a rule, from the reply of its algorithm's script.
func (r *reader) count(rule *limiter.Rule, at limiter.Instant) limiter.RemoteCount {
	switch rule.Algorithm.Kind {
	case limiter.TokenBucket:
		missing, fraction := r.next(), r.next()
		return limiter.RemoteTokenBucket(rule, at, missing, fraction, r.parts())
	case limiter.FixedWindow:
		end, used, leased := r.next(), r.next(), r.next()
		return limiter.RemoteFixedWindow(rule, at, limiter.Instant(end), used, limiter.Instant(leased))
	case limiter.SlidingWindow:
		start, counts, leased := r.next(), r.list(rule.Algorithm.SubWindows+1), r.next()
		return limiter.RemoteSlidingWindow(rule, at, limiter.Instant(start), counts, limiter.Instant(leased))
	default:
		used, newest, first, events := r.next(), r.next(), r.next(), r.next()
		return limiter.RemoteSlidingLog(at, r.leaseSlots(),
			limiter.Events{At: limiter.Instant(first), N: events}, limiter.Events{At: limiter.Instant(newest), N: used - events})
	}
}
