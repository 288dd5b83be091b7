package live

import (
	"time"

	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/limiter"
)

const outcomes = 10 // length of api.Outcomes

// Rates are decisions per second by outcome, and, for decisions that needed a count, by source.
type Rates struct {
	Outcomes [outcomes]float32        `json:"outcomes"`
	Sources  [limiter.Sources]float32 `json:"sources"`
}

// add adds other to r.
func (r *Rates) add(other *Rates) {
	for i := range r.Outcomes {
		r.Outcomes[i] += other.Outcomes[i]
	}
	for i := range r.Sources {
		r.Sources[i] += other.Sources[i]
	}
}

// scale multiplies r by a factor.
func (r *Rates) scale(by float32) {
	for i := range r.Outcomes {
		r.Outcomes[i] *= by
	}
	for i := range r.Sources {
		r.Sources[i] *= by
	}
}

// A count has the counters of a zone at an instant, in the order of [Rates].
type count struct {
	outcomes [outcomes]uint64
	sources  [limiter.Sources]uint64
}

// read reads the counters of a zone. The order of the outcomes is that of api.Outcomes.
func read(z *usage.ZoneCounters) (c count) {
	decided := z.Sum()
	for source := range limiter.Sources {
		bySource := [...]uint64{
			decided.Admitted[source].Load(), decided.Rejected[source].Load(), decided.Outage[source].Load(),
			decided.Unavailable[source].Load(), 0, 0, decided.WouldReject[source].Load(),
			0, 0, decided.Queued[source].Load(),
		}
		for outcome, n := range bySource {
			c.outcomes[outcome] += n
			c.sources[source] += n
		}
	}
	c.outcomes[4], c.outcomes[5], c.outcomes[7] = z.Allowed.Load(), z.Denied.Load(), z.WouldDeny.Load()
	c.outcomes[8] = z.Overloaded.Load()
	return c
}

// ratesSince returns the rates from an earlier count of a zone on. The counters of a zone that was
// removed and added again start from zero.
func (c *count) ratesSince(earlier *count, span time.Duration) (r Rates) {
	for i, n := range c.outcomes {
		r.Outcomes[i] = rate(earlier.outcomes[i], n, span)
	}
	for i, n := range c.sources {
		r.Sources[i] = rate(earlier.sources[i], n, span)
	}
	return r
}

func rate(from, to uint64, span time.Duration) float32 {
	if to < from {
		from = 0
	}
	return float32(float64(to-from) / span.Seconds())
}

// sourceNames are the names of the sources in the order of [Rates].
func sourceNames() (names []string) {
	for source := range limiter.Source(limiter.Sources) {
		names = append(names, source.String())
	}
	return names
}
