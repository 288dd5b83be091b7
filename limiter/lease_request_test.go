package limiter

import (
	"testing"
	"time"
)

// TestJitter checks by how much the requests of all nodes are spread. In a fast bucket, about one
// request comes for each event that accrues. When a lease may expire, the requests are spread by a
// few milliseconds.
func TestJitter(t *testing.T) {
	tiny := mustRule(t, bucket, Limit{Events: 100, Window: 10 * time.Millisecond})
	bucket := mustRule(t, bucket, Limit{Events: 6000, Window: time.Minute})
	window := mustRule(t, fixed, Limit{Events: 10, Window: time.Minute})
	short := mustRule(t, fixed, Limit{Events: 10, Window: 200 * time.Millisecond})
	for _, test := range []struct {
		name  string
		rule  *Rule
		nodes int
		need  int64
		ok    bool
		retry Instant // the retry, in µs after the denial
		want  int64
	}{
		{"one node", bucket, 1, 1, false, 10 * ms, 0},
		{"two nodes of a fast bucket", bucket, 2, 1, false, 1 * ms, 2 * ms},
		{"five nodes", bucket, 5, 1, false, 10 * ms, 5 * ms},
		{"a thousand nodes", bucket, 1000, 1, false, 10 * ms, 5 * ms},
		{"a thousand nodes of a tiny window", tiny, 1000, 1, false, 100, 500},
		{"when a lease of a bucket may expire", bucket, 5, 1, false, 3001 * ms, 5 * ms},
		{"when a lease may expire", window, 5, 1, false, 5 * sec, 5 * ms},
		{"when a lease of a short window may expire", short, 5, 1, false, 25 * ms, 200},
		{"when no lease is left", window, 5, 1, false, 21 * sec, 0},
		{"no retry", bucket, 5, 1, false, Never - begins, 0},
		{"retry at once", bucket, 5, 1, false, 0, 0},
		{"no take waits", bucket, 5, 0, false, 10 * ms, 0},
		{"allowed", bucket, 5, 1, true, 10 * ms, 0},
	} {
		l := LeaseRequest{Rule: test.rule, Need: test.need, Nodes: test.nodes}
		l.Decision = Decision{OK: test.ok, At: begins, RetryAt: begins + test.retry}
		if got := l.Jitter(); got != test.want {
			t.Errorf("%s: jitter = %d µs, want %d", test.name, got, test.want)
		}
	}
}
