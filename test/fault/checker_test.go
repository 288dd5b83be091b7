package fault

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// observed returns the result of a fault that went as it should: node 0 waits once, the breakers open, all
// nodes keep to their shares, and Redis decides again at once.
func observed() *result {
	start := time.Now()
	r := &result{
		fault:     &fault{name: "planted", opens: true, degrades: true, most: outage},
		timeline:  timeline{injected: start, healed: start.Add(time.Second)},
		primaries: []string{"a", "b", "c"},
		keys:      []tightKey{{"fresh", 0}, {"other", 1}},
		before:    resources{60, 36},
		after:     resources{62, 36},
		awaited:   true,
		late:      time.Millisecond,
	}
	for node := range size {
		at := start.Add(150 * time.Millisecond)
		r.transitions = append(r.transitions, transition{node: node, at: at, primary: "a", state: "open"})
	}
	add := func(ms int, node int, p path, key string, shard, status int, degraded bool) {
		r.samples = append(r.samples, sample{
			node: node, path: p, key: key, shard: shard, begin: start.Add(time.Duration(ms) * time.Millisecond),
			took: time.Millisecond, status: status, degraded: degraded,
		})
	}
	for i := range 40 {
		for node := range size {
			add(200+i, node, strict, "k", 0, 200, true)
			add(200+i, node, leased, "l", 1, 200, false)
			add(200+i, node, control, "", 0, 200, false)
		}
	}
	for i := range limit {
		add(300+i, i%size, tight, "fresh", 0, 200, true)
		add(300+i, i%size, tight, "other", 1, 200, false)
	}
	add(1100, 0, tight, "fresh", 0, 429, false)
	add(1100, 0, tight, "other", 1, 429, false)
	return r
}

// Each row plants one mistake in a result. The checker finds the mistake, and finds none in a result without
// one.
func TestCheckerFinds(t *testing.T) {
	first := func(r *result, p path) *sample {
		return &r.samples[slices.IndexFunc(r.samples, func(s sample) bool { return s.path == p })]
	}
	again := func(r *result, n int, change func(*sample)) {
		for range n {
			s := *first(r, tight)
			change(&s)
			r.samples = append(r.samples, s)
		}
	}
	for _, test := range []struct {
		want  string
		plant func(*result)
	}{
		{"", func(*result) {}},
		{"1 requests failed", func(r *result) { first(r, strict).status = 0 }},
		{"1 requests failed", func(r *result) { first(r, tight).status = 503 }},
		{"1 requests failed", func(r *result) { first(r, leased).status = 429 }},
		{"a request took 151ms, want at most two timeouts", func(r *result) {
			s := first(r, strict)
			s.begin, s.took = r.injected.Add(time.Millisecond), 151*time.Millisecond
		}},
		{"a request took 51ms while the breaker was open", func(r *result) { first(r, strict).took = 51 * time.Millisecond }},
		{"half of the requests took 30ms or more while the breaker was open", func(r *result) {
			for i := range r.samples {
				if r.samples[i].path == strict {
					r.samples[i].took = 30 * time.Millisecond
				}
			}
		}},
		{"a request to another primary took 101ms", func(r *result) { first(r, leased).took = 101 * time.Millisecond }},
		{"1 requests to other primaries were degraded", func(r *result) { first(r, leased).degraded = true }},
		{"these breakers did not open: node 0 to a", func(r *result) { r.transitions = r.transitions[1:] }},
		{"a breaker opened after 240ms", func(r *result) { r.transitions[0].at = r.injected.Add(240 * time.Millisecond) }},
		{"not decided exactly came 5.501s after the end", func(r *result) {
			again(r, 1, func(s *sample) { s.status, s.begin = 429, r.healed.Add(5500*time.Millisecond) })
		}},
		{"not decided exactly came 5.501s after the end", func(r *result) { // because it is admitted above the limit
			again(r, 1, func(s *sample) { s.degraded, s.begin = false, r.healed.Add(5500*time.Millisecond) })
		}},
		{"25 events of fresh were admitted without Redis", func(r *result) { again(r, 1, func(*sample) {}) }},
		{"49 events of fresh were admitted, want at most 48", func(r *result) {
			again(r, limit+1, func(s *sample) { s.degraded = false })
		}},
		{"25 events of other were admitted, want at most 24", func(r *result) {
			again(r, 1, func(s *sample) { s.key, s.shard, s.degraded = "other", 1, false })
		}},
		{"23 events of fresh were admitted, want at least", func(r *result) { first(r, tight).status = 429 }},
		{"connections:43} are left", func(r *result) { r.after.connections += 2*size + 1 }},
		{"goroutines:67 ", func(r *result) { r.after.goroutines = r.before.goroutines + 2*size + 1 }},
		{"the test is void", func(r *result) { r.samples = r.samples[len(r.samples)-60:] }},
	} {
		r := observed()
		test.plant(r)
		wrong, late := r.violations()
		got := strings.Join(append(wrong, late...), "; ")
		if test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("violations = %q, want %q", got, test.want)
		}
	}
}
