package main

import (
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/bench/report"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// An answer is the decision of a fleet on an arrival.
type answer struct {
	at      limiter.Instant // of the decision
	late    time.Duration   // time from the due instant until the take was made
	took    time.Duration
	waited  bool // the take waited for the store, even if a lease decided it then
	source  limiter.Source
	verdict verdict
}

// An outcome is the result of one trial.
type outcome struct {
	*trial
	comparison

	// These count only takes that were due after the warm-up.
	takes, failed int
	waited        int   // takes that waited for the store
	local         int   // takes that were decided on the node
	requests      int64 // requests to the store
	latencies     []time.Duration
}

// overAdmission returns the excess of admitted takes, as a fraction of the takes that the exact
// algorithm admits.
func (o *outcome) overAdmission() float64 { return fraction(o.over, o.exact) }

// falseRejections returns the excess of rejected takes, as a fraction of all takes.
func (o *outcome) falseRejections() float64 { return fraction(o.short, o.takes) }

// localShare returns the fraction of the takes that were decided on the node.
func (o *outcome) localShare() float64 { return fraction(o.local, o.takes-o.failed) }

// waiting returns the fraction of the takes that waited for the store.
func (o *outcome) waiting() float64 { return fraction(o.waited, o.takes) }

// perThousand returns the requests to the store per 1000 takes.
func (o *outcome) perThousand() float64 { return 1000 * float64(o.requests) / float64(max(1, o.takes)) }

func fraction(part, whole int) float64 { return float64(part) / float64(max(1, whole)) }

// latency returns the quantile q of the durations of the takes.
func (o *outcome) latency(q float64) time.Duration { return report.Quantile(q, o.latencies) }

// took formats the quantile q of the durations.
func (o *outcome) took(q float64) string { return report.Milliseconds(o.latency(q)) }

// outcomes returns the outcome of each trial. Takes that were due before warm count only in the
// comparison.
func outcomes(trials []*trial, arrivals []arrival, answers []answer, warm time.Duration) []*outcome {
	all := make([]*outcome, len(trials))
	takes := make([][]decided, len(trials))
	for i := range all {
		all[i] = &outcome{trial: trials[i]}
	}
	for i := range arrivals {
		a, o := &answers[i], all[arrivals[i].trial]
		takes[arrivals[i].trial] = append(takes[arrivals[i].trial], decided{a.at, arrivals[i].key, a.verdict})
		if arrivals[i].due < warm {
			continue
		}
		o.takes++
		o.latencies = append(o.latencies, a.took)
		if a.waited {
			o.waited++
		}
		switch {
		case a.verdict == failed:
			o.failed++
		case a.source != limiter.FromStore:
			o.local++
		}
	}
	for i, o := range all {
		slices.Sort(o.latencies)
		o.comparison = compare(o.rule, o.shape.keys, takes[i])
	}
	return all
}
