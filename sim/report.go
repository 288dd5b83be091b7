package sim

import (
	"cmp"
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A Report says whom a limit would have rejected.
type Report struct {
	Trace      TraceSummary `json:"trace"`
	Limit      Limit        `json:"limit"`
	Curve      []Outcome    `json:"curve"`
	Touches    []Touch      `json:"touches"`
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

// An Outcome is what a limit does to a trace.
type Outcome struct {
	Limit            Limit   `json:"limit"`
	InForce          bool    `json:"in_force,omitempty"`
	RequestsRejected int64   `json:"requests_rejected"`
	KeysRejected     int     `json:"keys_rejected"`
	RequestsShare    float64 `json:"requests_share"`
	KeysShare        float64 `json:"keys_share"`
}

// A Touch is the least limit that rejects at most a share of the keys.
type Touch struct {
	KeysShare float64 `json:"keys_share"`
	Limit     Limit   `json:"limit"`

	// Exact is false if the limit is only the least of those that were tried.
	Exact bool `json:"exact"`
}

// A KeyOutcome is what the limit in force does to one key.
type KeyOutcome struct {
	Key      string    `json:"key"`
	Requests int64     `json:"requests"`
	Rejected int64     `json:"rejected"`
	First    time.Time `json:"first_rejection"`
	Last     time.Time `json:"last_rejection"`

	// Least is the least limit that never rejects the key, 0 if it is not known.
	Least int64 `json:"least_limit,omitempty"`
}

// An Algorithm is what an algorithm does under the limit in force.
type Algorithm struct {
	Name        string  `json:"name"`
	SubWindows  int     `json:"subwindows,omitempty"`
	Admitted    int64   `json:"admitted"`
	Rejected    int64   `json:"rejected"`
	Differs     int64   `json:"differs_from_exact"` // requests that an exact log decides otherwise
	Excess      int64   `json:"worst_excess"`       // events above the limit in any window
	BytesPerKey float64 `json:"bytes_per_key"`
}

// shares are the shares of the keys of which a report names the least limits.
var shares = []float64{0.01, 0.001, 0.0001, 0}

// Report returns what the study has found. At most top keys are listed, those that are rejected
// most first. name returns what to call a key.
func (s *Study) Report(top int, name func(Key) string) *Report {
	r := &Report{
		Trace: TraceSummary{
			Requests: s.inForce.Admitted + s.inForce.Rejected, Keys: len(s.rejections.keys),
			From: s.first.Time(), To: s.last.Time(),
		},
		Limit: limitOf(s.rule), Minutes: s.times.minutes,
	}
	for _, c := range s.candidates {
		r.Curve = append(r.Curve, Outcome{
			Limit: limitOf(c.rule), InForce: c == s.inForce, RequestsRejected: c.Rejected, KeysRejected: c.KeysRejected,
			RequestsShare: share(c.Rejected, r.Trace.Requests), KeysShare: share(c.KeysRejected, r.Trace.Keys),
		})
	}
	var least []int64
	if s.least != nil {
		least = s.least.Limits()
	}
	r.Touches = s.touches(least)
	r.Keys = s.rejections.report(top, name, least)
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

// touches returns the least limits that reject at most some shares of the keys.
func (s *Study) touches(least []int64) []Touch {
	keys := len(s.rejections.keys)
	if keys == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(least))
	var touches []Touch
	for _, part := range shares {
		most := int(part * float64(keys))
		if sorted != nil {
			limit := limitOf(s.rule)
			limit.Events = sorted[keys-1-most]
			touches = append(touches, Touch{part, limit, true})
			continue
		}
		i := slices.IndexFunc(s.candidates, func(c *Replay) bool { return c.KeysRejected <= most })
		if i >= 0 {
			touches = append(touches, Touch{part, limitOf(s.candidates[i].rule), false})
		}
	}
	return touches
}

// report returns the keys that are rejected most.
func (k *rejections) report(top int, name func(Key) string, least []int64) []KeyOutcome {
	var hit []Key
	for i := range k.keys {
		if k.keys[i].rejected > 0 {
			hit = append(hit, Key(i))
		}
	}
	slices.SortFunc(hit, func(a, b Key) int {
		return cmp.Or(cmp.Compare(k.keys[b].rejected, k.keys[a].rejected), cmp.Compare(a, b))
	})
	outcomes := make([]KeyOutcome, 0, min(top, len(hit)))
	for _, n := range hit[:min(top, len(hit))] {
		key := &k.keys[n]
		o := KeyOutcome{Key: name(n), Requests: key.requests, Rejected: key.rejected, First: key.first.Time(), Last: key.last.Time()}
		if least != nil {
			o.Least = least[n]
		}
		outcomes = append(outcomes, o)
	}
	return outcomes
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
