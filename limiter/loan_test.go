package limiter

import (
	"testing"
	"time"
)

// TestJitter spreads the requests of all nodes about one event of a bucket each, but for no longer than a twentieth of the window; and
// a little when a lease may end.
func TestJitter(t *testing.T) {
	bucket := mustRule(t, bucket, Limit{Events: 6000, Window: time.Minute})
	window := mustRule(t, fixed, Limit{Events: 10, Window: time.Minute})
	short := mustRule(t, fixed, Limit{Events: 10, Window: 200 * time.Millisecond})
	for _, test := range []struct {
		name  string
		rule  *Rule
		nodes int
		need  int64
		ok    bool
		retry Instant // after the denial
		want  int64
	}{
		{"one node", bucket, 1, 1, false, 10 * ms, 0},
		{"five nodes", bucket, 5, 1, false, 10 * ms, 50 * ms},
		{"a thousand nodes", bucket, 1000, 1, false, 10 * ms, 3000 * ms},
		{"when a lease of a bucket may end", bucket, 5, 1, false, 3001 * ms, 20 * ms},
		{"when a lease may end", window, 5, 1, false, 5 * sec, 20 * ms},
		{"when a lease of a short window may end", short, 5, 1, false, 25 * ms, 200},
		{"when no lease is left", window, 5, 1, false, 11 * sec, 0},
		{"no retry", bucket, 5, 1, false, Never - begins, 0},
		{"retry at once", bucket, 5, 1, false, 0, 0},
		{"nobody denied", bucket, 5, 0, false, 10 * ms, 0},
		{"allowed", bucket, 5, 1, true, 10 * ms, 0},
	} {
		l := LeaseRequest{Rule: test.rule, Need: test.need, Nodes: test.nodes}
		l.Decision = Decision{OK: test.ok, At: begins, RetryAt: begins + test.retry}
		if got := l.Jitter(); got != test.want {
			t.Errorf("%s: jitter = %d µs, want %d", test.name, got, test.want)
		}
	}
}

// TestDenialsFollowEachOther denies until a lease ends, and then again: each is remembered for as long as the store says, and clients
// are told that.
func TestDenialsFollowEachOther(t *testing.T) {
	r := mustRule(t, fixed, Limit{Events: 10, Window: time.Hour})
	a, now := newAccount(), begins
	for _, lasts := range []Instant{400 * ms, 30 * ms, 900 * ms} {
		var l LeaseRequest
		a.Ask(r, now, 1, 0, &l)
		l.Decision = Decision{At: now + 3*sec, RetryAt: now + 3*sec + lasts} // by the store's clock
		a.Answer(r, now, now, &l, 0, false)
		var d Decision
		if !a.Take(r, now+lasts-1, 1, 0, &d) || d.OK || d.RetryAt != now+lasts {
			t.Errorf("take before a denial of %d µs has passed = %+v, want one remembered until %d", lasts, d, now+lasts)
		}
		if now += lasts; a.Take(r, now, 1, 0, &d) {
			t.Errorf("take when a denial of %d µs has passed = %+v, want the store to be asked", lasts, d)
		}
	}
}
