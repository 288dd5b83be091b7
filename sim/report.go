package sim

import (
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A Report says whom a limit would have rejected.
type Report struct {
	Trace      TraceSummary `json:"trace"`
	Clients    string       `json:"clients"` // what clients do when they are rejected
	Limit      Limit        `json:"limit"`
	Curve      []Outcome    `json:"curve"`
	KeyCurve   []KeyPoint   `json:"key_curve,omitempty"` // the exact least limits of all keys
	Touches    []Touch      `json:"touches"`
	Recommends *Limit       `json:"recommended,omitempty"`
	Burst      *Limit       `json:"with_burst,omitempty"` // the limit with a burst, if a burst is enough
	Keys       []KeyOutcome `json:"keys"`
	Worst      *Minute      `json:"worst_minute,omitempty"`
	Minutes    []Minute     `json:"minutes"`
	Algorithms []Algorithm  `json:"algorithms,omitempty"`
}

// A TraceSummary describes the requests of a trace.
type TraceSummary struct {
	Requests int64     `json:"requests"`
	Keys     int       `json:"keys"`
	From     time.Time `json:"from"`
	To       time.Time `json:"to"`
}

// A Limit is a limit and its algorithm.
type Limit struct {
	Events        int64   `json:"events"`
	WindowSeconds float64 `json:"window_seconds"`
	Burst         int64   `json:"burst,omitempty"`
	Algorithm     string  `json:"algorithm"`
}

// An Outcome is what a limit does to the requests of a trace.
type Outcome struct {
	Limit            Limit   `json:"limit"`
	InForce          bool    `json:"in_force,omitempty"`
	RequestsRejected int64   `json:"requests_rejected"`
	KeysRejected     int     `json:"keys_rejected"`
	RequestsShare    float64 `json:"requests_share"`
	KeysShare        float64 `json:"keys_share"`

	// Retries counts the requests that clients send again, if they react. Their rejections are also in
	// RequestsRejected.
	Retries *Retries `json:"retries,omitempty"`
}

// An Algorithm is what an algorithm does with the limit in force.
type Algorithm struct {
	Name        string  `json:"name"`
	SubWindows  int     `json:"subwindows,omitempty"`
	Admitted    int64   `json:"admitted"`
	Rejected    int64   `json:"rejected"`
	Differs     int64   `json:"differs_from_exact"` // requests that an exact log decides otherwise
	Excess      int64   `json:"worst_excess"`       // the highest number of events above the limit in a window
	BytesPerKey float64 `json:"bytes_per_key"`
}

// Report returns the result of the study. It lists at most top keys, those with the most rejections.
// name returns the name of a key.
func (s *Study) Report(top int, name func(Key) string) *Report {
	s.end()
	r := &Report{
		Clients: s.clients.String(),
		Trace: TraceSummary{
			Requests: s.requests, Keys: len(s.rejections.keys),
			From: s.first.Time(), To: s.last.Time(),
		},
		Limit: limitOf(s.rule), Minutes: s.times.minutes,
	}
	for _, c := range s.candidates {
		o := Outcome{
			Limit: limitOf(c.rule), InForce: s.limitInForce && c == s.inForce, RequestsRejected: c.Rejected, KeysRejected: c.KeysRejected,
			RequestsShare: share(c.Rejected, c.requests()), KeysShare: share(c.KeysRejected, r.Trace.Keys),
		}
		if c.clients != nil {
			o.Retries = &c.clients.sum
		}
		r.Curve = append(r.Curve, o)
	}
	var least []int64
	if s.least != nil {
		least = s.least.limits()
	}
	sorted := slices.Sorted(slices.Values(least))
	r.KeyCurve = s.keyCurve(sorted)
	r.Touches = s.touches(sorted)
	r.Recommends = s.recommended(sorted)
	r.Burst = s.withBurst(r.Recommends)
	r.Keys = s.rejections.outcomes(s.rejections.most(top), name, least)
	for i, m := range s.times.minutes {
		if m.Rejected > 0 && (r.Worst == nil || m.Rejected > r.Worst.Rejected) {
			r.Worst = &s.times.minutes[i]
		}
	}
	for i := range s.algorithms.all {
		a := &s.algorithms.all[i]
		r.Algorithms = append(r.Algorithms, Algorithm{
			Name: a.rule.Algorithm.Kind.String(), SubWindows: a.rule.Algorithm.SubWindows, Admitted: a.Admitted, Rejected: a.Rejected,
			Differs: a.differs, Excess: a.excess(), BytesPerKey: a.bytesPerKey(),
		})
	}
	return r
}

// Studied returns the outcome of the limit under study.
func (r *Report) Studied() *Outcome {
	return &r.Curve[slices.IndexFunc(r.Curve, func(o Outcome) bool { return o.Limit == r.Limit })]
}

func limitOf(r *limiter.Rule) Limit {
	return Limit{
		Events: r.Limit.Events, WindowSeconds: r.Limit.Window.Seconds(), Burst: r.Limit.Burst, Algorithm: r.Algorithm.Kind.String(),
	}
}

func share[N int | int64](part, whole N) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}
