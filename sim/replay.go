package sim

import "github.com/fleetlimit/fleetlimit/limiter"

// A Replay decides requests by one rule, as a single gateway that counts in memory does.
type Replay struct {
	rule    *limiter.Rule
	numbers []int64         // the States of the keys, one after the other
	logs    []limiter.Count // the counts of the keys, under an algorithm whose counts grow

	Sum
}

// A Sum is what became of requests.
type Sum struct {
	Admitted, Rejected int64 // requests
	KeysRejected       int   // keys of which at least one request was rejected

	rejected []bool // by key: whether a request was
}

// NewReplay returns a replay of requests by a rule.
func NewReplay(r *limiter.Rule) *Replay { return &Replay{rule: r} }

// Take decides the next request. A cost above what can be taken at once counts as that, as in the
// gateway.
func (p *Replay) Take(r Request) limiter.Decision {
	d := p.count(r.Key).Take(p.rule, r.At, min(r.Cost, p.rule.Capacity()))
	p.add(r.Key, d.OK)
	return d
}

// count returns the count of a key.
func (p *Replay) count(k Key) limiter.Count {
	size := p.rule.Algorithm.StateSize()
	if size == 0 {
		c := at(&p.logs, k)
		if *c == nil {
			*c = limiter.NewCount(p.rule.Algorithm)
		}
		return *c
	}
	if need := (int(k) + 1) * size; need > len(p.numbers) {
		p.numbers = append(p.numbers, make([]int64, need-len(p.numbers))...)
	}
	return limiter.State(p.numbers[int(k)*size:][:size])
}

func (s *Sum) add(k Key, ok bool) {
	if ok {
		s.Admitted++
		return
	}
	s.Rejected++
	if seen := at(&s.rejected, k); !*seen {
		*seen = true
		s.KeysRejected++
	}
}
