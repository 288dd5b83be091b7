package sim

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// Options say which limits a [Study] tries.
type Options struct {
	// Rule has the algorithm and the limit under study.
	Rule limiter.Rule

	// Candidates are further limits of that algorithm, for the curve. New returns an error if one of
	// them cannot be enforced. If Candidates is nil, the study uses Ladder of the limit of Rule.
	Candidates []limiter.Limit

	// Algorithms are compared with each other under the limit of Rule.
	Algorithms []limiter.Algorithm

	// Clients say what clients do when the limit under study, or a candidate, rejects them. Comparisons
	// of algorithms use the trace as it is.
	Clients Clients

	// SuggestBurst has the study look for a burst of Rule that few keys exceed. Rule must be a token
	// bucket without a burst.
	SuggestBurst bool

	// InForce says that Rule is in force in a gateway.
	InForce bool
}

// Ladder returns limits with 1, 2 and 5 times each power of ten events per window, from a thousandth to
// a thousand times the events of l. The ratio of the burst to the events stays as in l.
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

// AllAlgorithms returns the four algorithms. The sliding window is there several times, with different
// numbers of sub-windows.
func AllAlgorithms() []limiter.Algorithm {
	all := []limiter.Algorithm{{Kind: limiter.SlidingWindowLog}, {Kind: limiter.TokenBucket}, {Kind: limiter.FixedWindow}}
	for _, n := range []int{1, 2, 4, 10, 60} {
		all = append(all, limiter.Algorithm{Kind: limiter.SlidingWindow, SubWindows: n})
	}
	return all
}

// A Study replays a trace and finds out whom limits reject. It is for one goroutine.
type Study struct {
	rule    *limiter.Rule
	first   limiter.Instant
	last    limiter.Instant
	pending []Arrival // requests that are not decided yet

	requests int64

	inForce    *Replay
	rejections rejections
	times      timeline
	least      *leastLimits // nil if least limits cannot be found in one pass
	leastBurst bool         // least has bursts at the rate of the rule
	suggested  *leastLimits // least bursts, for a suggestion; nil if none is wanted
	candidates []*Replay
	algorithms comparison
	clients    Clients

	limitInForce bool
}

// New returns a study with the options o.
func New(o Options) (*Study, error) {
	rule, err := limiter.NewRule(o.Rule)
	if err != nil {
		return nil, err
	}
	s := &Study{rule: rule, inForce: NewReplay(rule).withClients(o.Clients), clients: o.Clients, limitInForce: o.InForce}
	if s.leastBurst = o.Rule.Limit.Burst > 0 && o.Rule.Algorithm.Kind.Refills(); s.leastBurst {
		s.least = leastBurstsOf(rule)
	} else if least, ok := leastLimitsOf(rule.Algorithm.Kind, rule.Limit.Window.Microseconds()); ok {
		s.least = least
	}
	if o.SuggestBurst && !s.leastBurst && o.Rule.Algorithm.Kind.Refills() {
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

// compareRates orders limits by events per time, and then by burst.
func compareRates(a, b limiter.Limit) int {
	rate := func(l limiter.Limit) float64 { return float64(l.Events) / float64(l.Window) }
	return cmp.Or(cmp.Compare(rate(a), rate(b)), cmp.Compare(a.Burst, b.Burst))
}

// batch is the number of requests that each limit decides in turn, so that the counts of a limit stay
// in the caches of the processor.
const batch = 4096

// Add adds the next request. Requests must come in the order of their instants.
func (s *Study) Add(r Arrival) {
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

// decided counts a decision of the limit under study.
func (s *Study) decided(r Arrival, d limiter.Decision) {
	s.rejections.add(r, d.OK)
	s.times.add(r.At, d.OK)
}

func ignored(Arrival, limiter.Decision) {}

// end decides the requests that are left: those in pending, and those that clients send after the
// trace.
func (s *Study) end() {
	s.decide()
	s.inForce.sendAgain(limiter.Never, s.decided)
	for _, c := range s.candidates {
		if c != s.inForce {
			c.sendAgain(limiter.Never, ignored)
		}
	}
}

// decide decides the pending requests by each limit.
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
