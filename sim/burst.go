package sim

import "slices"

// mostBursts is how many times its events a limit's burst is at most, if one is suggested: a larger
// one admits for long what the rate does not.
const mostBursts = 10

// withBurst returns the limit in force with the least burst under which it rejects no more keys than a
// recommended limit may, nil if the limit is enough itself, or a burst is not.
func (s *Study) withBurst(recommended *Limit) *Limit {
	if s.suggested == nil || recommended != nil && recommended.Events <= s.rule.Limit.Events {
		return nil
	}
	sorted := slices.Sorted(slices.Values(s.suggested.limits()))
	limit := limitOf(s.rule)
	limit.Burst = leastFor(sorted)
	if limit.Burst <= limit.Events || limit.Burst > mostBursts*limit.Events {
		return nil
	}
	return &limit
}
