package sim

import "github.com/fleetlimit/fleetlimit/limiter"

// A Replay decides requests by one rule, like a single gateway that counts in memory.
type Replay struct {
	rule    *limiter.Rule
	numbers []int64         // the states of all keys, one after the other
	logs    []limiter.Count // by key, if the counts of the algorithm grow
	clients *reacting       // nil if clients do not react to rejections

	Sum
}

// A Sum counts decisions.
type Sum struct {
	Admitted, Rejected int64 // requests
	KeysRejected       int   // keys of which at least one request was rejected

	rejected []bool // by key: whether a request was rejected
}

// NewReplay returns a replay of requests by a rule.
func NewReplay(r *limiter.Rule) *Replay { return &Replay{rule: r} }

// withClients has clients react to rejections as c says. It returns p.
func (p *Replay) withClients(c Clients) *Replay {
	if c != OpenClients {
		p.clients = &reacting{clients: c}
	}
	return p
}

// Take decides the next request. As in the gateway, a cost above what can be taken at once counts as
// that.
func (p *Replay) Take(r Arrival) limiter.Decision {
	cost := min(r.Cost, p.rule.Capacity())
	var d limiter.Decision
	if size := p.rule.Algorithm.StateSize(); size > 0 {
		d = p.state(r.Key, size).Take(p.rule, r.At, cost)
	} else {
		d = p.log(r.Key).Take(p.rule, r.At, cost)
	}
	p.add(r.Key, d.OK)
	return d
}

// state returns the count of a key, which has size numbers.
func (p *Replay) state(k Key, size int) limiter.State {
	if need := (int(k) + 1) * size; need > len(p.numbers) {
		p.numbers = append(p.numbers, make([]int64, need-len(p.numbers))...)
	}
	return limiter.State(p.numbers[int(k)*size:][:size])
}

// log returns the count of a key under an algorithm whose counts grow.
func (p *Replay) log(k Key) limiter.Count {
	c := at(&p.logs, k)
	if *c == nil {
		*c = limiter.NewCount(p.rule.Algorithm)
	}
	return *c
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
