package sim

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// requestsOfKeys returns requests of several keys, in the order of their arrival.
func requestsOfKeys(rng *rand.Rand, keys int) []Arrival {
	var all []Arrival
	for k := range keys {
		for _, r := range randomTrace(rng, 1) {
			r.Key = Key(k)
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, func(a, b Arrival) int { return int(a.At - b.At) })
	return all
}

func study(t *testing.T, o Options, requests []Arrival) *Report {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range requests {
		s.Add(r)
	}
	return s.Report(100, func(k Key) string { return strconv.Itoa(int(k)) })
}

// TestCurve compares each outcome in the curve with a replay of its limit, and the least limits with
// the curve.
func TestCurve(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 150 {
		rule := limiter.Rule{
			Algorithm: limiter.Algorithm{Kind: limiter.Kind(i % 4)},
			Limit:     limiter.Limit{Events: 1 + rng.Int64N(30), Window: time.Duration(1+rng.IntN(60)) * time.Second},
		}
		requests := requestsOfKeys(rng, 1+rng.IntN(20))
		report := study(t, Options{Rule: rule}, requests)
		for _, o := range report.Curve {
			alone := rule
			alone.Limit.Events = o.Limit.Events
			r, err := limiter.NewRule(alone)
			if err != nil {
				t.Fatal(err)
			}
			replay, rejected := NewReplay(r), map[Key]bool{}
			for _, request := range requests {
				if !replay.Take(request).OK {
					rejected[request.Key] = true
				}
			}
			if o.RequestsRejected != replay.Rejected || o.KeysRejected != len(rejected) {
				t.Fatalf("%v rejects %d requests of %d keys, want %d of %d",
					o.Limit, o.RequestsRejected, o.KeysRejected, replay.Rejected, len(rejected))
			}
			for _, touch := range report.Touches {
				within := float64(o.KeysRejected) <= touch.KeysShare*float64(report.Trace.Keys)
				if exact := touch.Limit.Events <= o.Limit.Events; touch.Exact && exact != within {
					t.Fatalf("%v rejects %d of %d keys, and the least limit for a share of %v is %v",
						o.Limit, o.KeysRejected, report.Trace.Keys, touch.KeysShare, touch.Limit)
				}
			}
		}
	}
}

func TestReport(t *testing.T) {
	begin := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	var requests []Arrival
	add := func(after time.Duration, k Key) {
		requests = append(requests, Arrival{At: limiter.At(begin.Add(after)), Key: k, Cost: 1})
	}
	add(0, 0)
	add(0, 0)
	add(time.Second, 0) // rejected
	add(2*time.Second, 1)
	add(90*time.Second, 0)
	add(91*time.Second, 0)
	add(91*time.Second, 0) // rejected
	report := study(t, Options{
		Rule: limiter.Rule{
			Algorithm: limiter.Algorithm{Kind: limiter.SlidingWindowLog}, Limit: limiter.Limit{Events: 2, Window: time.Minute},
		},
		Algorithms: AllAlgorithms(),
	}, requests)
	want := KeyOutcome{
		Key: "0", Requests: 6, Rejected: 2, First: begin.Add(time.Second), Last: begin.Add(91 * time.Second), Least: 3,
	}
	if len(report.Keys) != 1 || report.Keys[0] != want {
		t.Errorf("keys = %+v, want %+v", report.Keys, want)
	}
	if want := []Minute{{begin, 3, 1}, {begin.Add(time.Minute), 2, 1}}; !slices.Equal(report.Minutes, want) {
		t.Errorf("minutes = %v, want %v", report.Minutes, want)
	}
	if report.Worst == nil || report.Worst.Rejected != 1 {
		t.Errorf("worst minute = %v, want one rejection", report.Worst)
	}
	for _, a := range report.Algorithms {
		if a.Admitted+a.Rejected != 7 || a.Name == "sliding_window_log" && (a.Differs != 0 || a.Excess != 0 || a.Rejected != 2) {
			t.Errorf("algorithm %+v: want 7 requests, and of the log 2 rejections and no difference", a)
		}
	}
}

// TestBucketExcess checks the worst window of an algorithm that admits more than an exact log.
func TestBucketExcess(t *testing.T) {
	var requests []Arrival
	for i := range 20 {
		requests = append(requests, Arrival{At: limiter.Instant(59_999_000 + i*100), Cost: 1})
		requests = append(requests, Arrival{At: limiter.Instant(60_000_000 + i*100), Cost: 1})
	}
	slices.SortFunc(requests, func(a, b Arrival) int { return int(a.At - b.At) })
	report := study(t, Options{
		Rule:       limiter.Rule{Limit: limiter.Limit{Events: 10, Window: time.Minute}},
		Algorithms: []limiter.Algorithm{{Kind: limiter.FixedWindow}},
	}, requests)
	if got := report.Algorithms[0].Excess; got != 10 {
		t.Errorf("worst excess of fixed windows across a boundary = %d, want 10", got)
	}
}
