package limiter

import (
	"strings"
	"testing"
	"time"
)

func TestNewRuleRefuses(t *testing.T) {
	good := Limit{Events: 10, Window: time.Minute}
	for _, test := range []struct {
		rule Rule
		want string // part of the error
	}{
		{Rule{Limit: Limit{Events: 0, Window: time.Minute}}, "events = 0, want 1 to 1000000000000"},
		{Rule{Limit: Limit{Events: MaxEvents + 1, Window: time.Minute}}, "events = 1000000000001"},
		{Rule{Limit: Limit{Events: 1, Window: MinWindow - 1}}, "window = 999.999µs, want 1ms to 87600h0m0s"},
		{Rule{Limit: Limit{Events: 1, Window: MaxWindow + 1}}, "window = 87600h0m0.000000001s"},
		{Rule{Limit: Limit{Events: 1, Window: time.Second + 1}}, "want whole microseconds"},
		{Rule{Limit: Limit{Events: 1, Window: time.Second, Burst: -1}}, "burst = -1, want 0 to 1000000000000"},
		{Rule{Limit: Limit{Events: 1, Window: time.Second, Burst: MaxEvents + 1}}, "burst = 1000000000001"},
		{Rule{Limit: good, Algorithm: Algorithm{Kind: 9}}, "unknown algorithm Kind(9)"},
		{Rule{Limit: good, Algorithm: Algorithm{Kind: FixedWindow, SubWindows: 2}}, "fixed_window has no sub-windows"},
		{Rule{Limit: good, Algorithm: sliding(-1)}, "sub-windows = -1, want 1 to 1000"},
		{Rule{Limit: good, Algorithm: sliding(1001)}, "sub-windows = 1001"},
		{Rule{Limit: good, MaxKeys: -1}, "max keys = -1"},
		{Rule{Limit: good, OnOutage: OutageClosed + 1}, "unknown outage mode 3"},
	} {
		_, err := NewRule(test.rule)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("NewRule(%+v) error = %v, want one with %q", test.rule, err, test.want)
		}
	}
}

func TestNewRuleDerives(t *testing.T) {
	for _, test := range []struct {
		name      string
		algorithm Algorithm
		limit     Limit
		capacity  int64
		fill      time.Duration
	}{
		{"bucket", bucket, Limit{Events: 100, Window: time.Minute}, 100, time.Minute},
		{"bucket with a burst", bucket, Limit{Events: 100, Window: time.Minute, Burst: 150}, 150, 90 * time.Second},
		{"bucket, rounded up", bucket, Limit{Events: 3, Window: time.Second, Burst: 1}, 1, 333_334 * time.Microsecond},
		{"bucket that never fills", bucket, Limit{Events: 1, Window: MaxWindow, Burst: MaxEvents}, MaxEvents,
			9_223_372_036_854_775 * time.Microsecond},
		{"log", slidingWindowLog, Limit{Events: 100, Window: time.Minute, Burst: 150}, 100, time.Minute},
		{"sliding", sliding(5), Limit{Events: 100, Window: time.Minute, Burst: 150}, 100, time.Minute},
		{"fixed", fixed, Limit{Events: 100, Window: time.Minute, Burst: 150}, 100, time.Minute},
	} {
		r := mustRule(t, test.algorithm, test.limit)
		if r.Capacity() != test.capacity || r.FillTime() != test.fill || r.MaxKeys != DefaultMaxKeys {
			t.Errorf("%s: capacity, fill time, max keys = %d, %v, %d, want %d, %v, %d",
				test.name, r.Capacity(), r.FillTime(), r.MaxKeys, test.capacity, test.fill, DefaultMaxKeys)
		}
	}
}

func TestSubWindowsAreNeverShorterThanTheWindow(t *testing.T) {
	r := mustRule(t, sliding(7), Limit{Events: 1, Window: time.Second})
	if want := int64(142_858); r.sub != want {
		t.Errorf("sub-window of 1s in 7 parts = %d µs, want %d", r.sub, want)
	}
	if r := mustRule(t, sliding(0), Limit{Events: 1, Window: time.Second}); r.Algorithm.SubWindows != 1 || r.sub != sec {
		t.Errorf("sub-windows by default = %d of %d µs, want 1 of %d", r.Algorithm.SubWindows, r.sub, sec)
	}
}

func TestParseKind(t *testing.T) {
	for _, k := range []Kind{TokenBucket, SlidingWindowLog, SlidingWindow, FixedWindow} {
		if got, err := ParseKind(k.String()); got != k || err != nil {
			t.Errorf("ParseKind(%q) = %v, %v, want %v", k.String(), got, err, k)
		}
	}
	if _, err := ParseKind("leaky"); err == nil || !strings.Contains(err.Error(), "token_bucket") {
		t.Errorf("ParseKind(leaky) error = %v, want one that lists the algorithms", err)
	}
}

func TestRateAndSubWindow(t *testing.T) {
	r := mustRule(t, bucket, Limit{Events: 90, Window: time.Minute})
	if events, us := r.Rate(); events != 3 || us != 2_000_000 {
		t.Errorf("rate of 90 per minute = %d in %d µs, want 3 in 2000000", events, us)
	}
	if got := mustRule(t, sliding(7), Limit{Events: 1, Window: time.Minute}).SubWindow(); got != 8_571_429 {
		t.Errorf("seventh of a minute = %d µs, want 8571429, rounded up", got)
	}
	if got := r.SubWindow(); got != 0 {
		t.Errorf("sub-window of a bucket = %d, want 0", got)
	}
}
