package limiter

import "testing"

// TestRebase checks that the time from a decision to its other instants stays, and so does Never.
func TestRebase(t *testing.T) {
	for _, line := range []struct {
		name              string
		at, retry, reset  Instant
		now               Instant
		wantRetry, wantTo Instant
	}{
		{"a clock that is ahead", 1000, 1300, 1700, 9000, 9300, 9700},
		{"a clock that is behind", 9000, 9300, 9700, 1000, 1300, 1700},
		{"at once", 1000, 1000, 1000, 9000, 9000, 9000},
		{"never", 1000, Never, 1700, 9000, Never, 9700},
		{"the same clock", 1000, 1300, 1700, 1000, 1300, 1700},
	} {
		d := Decision{OK: true, Source: FromStore, Limit: 10, Remaining: 7, At: line.at, RetryAt: line.retry, ResetAt: line.reset}
		want := d
		want.At, want.RetryAt, want.ResetAt = line.now, line.wantRetry, line.wantTo
		if d.Rebase(line.now); d != want {
			t.Errorf("%s:\n got %+v\nwant %+v", line.name, d, want)
		}
	}
}
