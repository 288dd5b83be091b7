package sim

import "slices"

// mostBursts is the highest ratio of a suggested burst to the limit's events. A larger burst admits for
// a long time what the rate does not admit.
const mostBursts = 10

// withBurst returns the limit in force with the least burst under which it rejects no more keys than a
// recommended limit may. It returns nil if the limit needs no burst, or if no burst up to mostBursts is
// enough.
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
