package sim

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// Options say what a [Study] tries.
type Options struct {
	// Rule is the algorithm and the limit that are looked at most closely.
	Rule limiter.Rule

	// Candidates are further limits of the same algorithm, for the curve. Limits that cannot be
	// enforced are an error. nil means a ladder around Rule: see Ladder.
	Candidates []limiter.Limit

	// Algorithms are compared under the limit of Rule.
	Algorithms []limiter.Algorithm

	// Clients are what clients do when they are rejected, by the limit in force and by candidates.
	// Comparisons of algorithms are of the trace as it is.
	Clients Clients

	// SuggestBurst finds a burst of the rule, a token bucket without one, that few keys exceed.
	SuggestBurst bool

	// InForce says that Rule is in force somewhere.
	InForce bool
}

// Ladder returns limits with 1, 2 and 5 times each power of ten events per window, from a
// thousandth to a thousand times the events of l. Bursts keep their ratio to the events.
func Ladder(l limiter.Limit) []limiter.Limit {
	var ladder []limiter.Limit
	for power := int64(1); power <= limiter.MaxEvents; power *= 10 {
		for _, step := range []int64{1, 2, 5} {
			events := step * power
			if events > limiter.MaxEvents || events < l.Events/1000 || events/1000 > l.Events {
				continue
			}
			c := limiter.Limit{Events: events, Window: l.Window}
			if l.Burst > 0 {
				c.Burst = max(1, int64(float64(l.Burst)*float64(events)/float64(l.Events)))
			}
			ladder = append(ladder, c)
		}
	}
	return ladder
}

// AllAlgorithms are the four algorithms, and sliding windows with more and more sub-windows.
func AllAlgorithms() []limiter.Algorithm {
	all := []limiter.Algorithm{{Kind: limiter.SlidingWindowLog}, {Kind: limiter.TokenBucket}, {Kind: limiter.FixedWindow}}
	for _, n := range []int{1, 2, 4, 10, 60} {
		all = append(all, limiter.Algorithm{Kind: limiter.SlidingWindow, SubWindows: n})
	}
	return all
}

// A Study replays a trace and finds out whom limits reject. It is used by one goroutine.
type Study struct {
	rule    *limiter.Rule
	first   limiter.Instant
	last    limiter.Instant
	pending []Request // that are not decided yet

	requests int64

	inForce    *Replay
	rejections rejections
	times      timeline
	least      *leastLimits // nil if they cannot be found in one pass
	leastBurst bool         // least is of bursts at the rate of the rule
	suggested  *leastLimits // of bursts, besides least; nil if none is suggested
	candidates []*Replay
	algorithms comparison
	clients    Clients

	limitInForce bool
}

// New returns a study of what o says.
func New(o Options) (*Study, error) {
	rule, err := limiter.NewRule(o.Rule)
	if err != nil {
		return nil, err
	}
	s := &Study{rule: rule, inForce: NewReplay(rule).withClients(o.Clients), clients: o.Clients, limitInForce: o.InForce}
	if s.leastBurst = o.Rule.Limit.Burst > 0 && o.Rule.Algorithm.Kind == limiter.TokenBucket; s.leastBurst {
		s.least = leastBurstsOf(rule)
	} else if least, ok := leastLimitsOf(rule.Algorithm.Kind, rule.Limit.Window.Microseconds()); ok {
		s.least = least
	}
	if o.SuggestBurst && !s.leastBurst && o.Rule.Algorithm.Kind == limiter.TokenBucket {
		s.suggested = leastBurstsOf(rule)
	}
	if o.Candidates == nil {
		o.Candidates = Ladder(o.Rule.Limit)
	}
	limits := append(slices.Clone(o.Candidates), o.Rule.Limit)
	slices.SortStableFunc(limits, compareRates)
	for _, limit := range slices.Compact(limits) {
		if limit == o.Rule.Limit {
			s.candidates = append(s.candidates, s.inForce)
			continue
		}
		candidate := o.Rule
		candidate.Limit = limit
		r, err := limiter.NewRule(candidate)
		if err != nil {
			return nil, err
		}
		s.candidates = append(s.candidates, NewReplay(r).withClients(o.Clients))
	}
	if len(o.Algorithms) > 0 {
		if s.algorithms, err = newComparison(o.Rule.Limit, o.Algorithms); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// compareRates orders limits by events per time, then by burst.
func compareRates(a, b limiter.Limit) int {
	rate := func(l limiter.Limit) float64 { return float64(l.Events) / float64(l.Window) }
	return cmp.Or(cmp.Compare(rate(a), rate(b)), cmp.Compare(a.Burst, b.Burst))
}

// batch is how many requests are decided together, limit by limit: so the counts of one limit stay in
// the caches of the processor.
const batch = 4096

// Add takes the next request into account. Requests come in the order of their instants.
func (s *Study) Add(r Request) {
	if r.At < s.last {
		panic(fmt.Sprintf("sim: a request of %v after one of %v", r.At.Time(), s.last.Time()))
	}
	if s.first == 0 {
		s.first = r.At
	}
	s.last = r.At
	s.requests++
	if s.pending = append(s.pending, r); len(s.pending) == batch {
		s.decide()
	}
}

// decided takes a decision of the limit in force into account.
func (s *Study) decided(r Request, d limiter.Decision) {
	s.rejections.add(r, d.OK)
	s.times.add(r.At, d.OK)
}

func ignored(Request, limiter.Decision) {}

// end decides what clients would send after the trace.
func (s *Study) end() {
	s.decide()
	s.inForce.sendAgain(limiter.Never, s.decided)
	for _, c := range s.candidates {
		if c != s.inForce {
			c.sendAgain(limiter.Never, ignored)
		}
	}
}

// decide decides the requests that are pending.
func (s *Study) decide() {
	for _, r := range s.pending {
		s.inForce.react(r, s.decided)
	}
	if s.least != nil {
		for _, r := range s.pending {
			s.least.add(r)
		}
	}
	if s.suggested != nil {
		for _, r := range s.pending {
			s.suggested.add(r)
		}
	}
	for _, c := range s.candidates {
		if c == s.inForce {
			continue
		}
		if c.clients != nil {
			for _, r := range s.pending {
				c.react(r, ignored)
			}
			continue
		}
		for _, r := range s.pending {
			c.Take(r)
		}
	}
	for _, r := range s.pending {
		s.algorithms.take(r)
	}
	s.pending = s.pending[:0]
}
