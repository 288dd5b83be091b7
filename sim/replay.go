package sim

import "github.com/fleetlimit/fleetlimit/limiter"

// A Replay decides requests by one rule, as a single gateway that counts in memory does.
type Replay struct {
	rule    *limiter.Rule
	numbers []int64         // the States of the keys, one after the other
	logs    []limiter.Count // the counts of the keys, under an algorithm whose counts grow
	clients *reacting       // nil if they do not react

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

// withClients has clients react to rejections.
func (p *Replay) withClients(c Clients) *Replay {
	if c != OpenClients {
		p.clients = &reacting{clients: c}
	}
	return p
}

// Take decides the next request. A cost above what can be taken at once counts as that, as in the
// gateway.
func (p *Replay) Take(r Request) limiter.Decision {
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

// state returns the count of a key that has size numbers.
func (p *Replay) state(k Key, size int) limiter.State {
	if need := (int(k) + 1) * size; need > len(p.numbers) {
		p.numbers = append(p.numbers, make([]int64, need-len(p.numbers))...)
	}
	return limiter.State(p.numbers[int(k)*size:][:size])
}

// log returns the count of a key that grows.
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
