package main

import (
	"math"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

func TestWindowAtBeginsAWindow(t *testing.T) {
	for _, nominal := range []time.Duration{time.Second, time.Minute, time.Hour} {
		for _, start := range []limiter.Instant{epoch, epoch + 1, epoch + 30_000_000, epoch + 1_234_567_891, epoch - 1} {
			got := windowAt(start, nominal)
			if into := int64(start) % got.Microseconds(); into > headStart {
				t.Errorf("windowAt(%d, %v) = %v, which began %d µs before, want up to %d", start, nominal, got, into, headStart)
			}
			if off := math.Abs(float64(got-nominal)) / float64(nominal); off > 0.01 {
				t.Errorf("windowAt(%d, %v) = %v, which is off by %g", start, nominal, got, off)
			}
		}
	}
}

func TestLimitFollowsLoad(t *testing.T) {
	bucket, fixed := leasing(limiter.TokenBucket), leasing(limiter.FixedWindow)
	one, zipfed := shape{keys: 1}, shape{keys: 3, exponent: 1}
	for _, c := range []struct {
		name   string
		trial  trial
		length time.Duration
		want   int64
	}{
		{"no limit", trial{policy: fixed, shape: one, rate: 100, window: time.Minute}, time.Second, unlimited},
		{"a part of a window", trial{policy: fixed, shape: one, rate: 100, window: time.Hour, load: 0.5}, 10 * time.Second, 2000},
		{"a whole window", trial{policy: fixed, shape: one, rate: 100, window: time.Minute, load: 1.5}, time.Minute, 4000},
		{"ten windows", trial{policy: fixed, shape: one, rate: 100, window: time.Second, load: 1}, 10 * time.Second, 100},
		{"a bucket that refills once", trial{policy: bucket, shape: one, rate: 100, window: time.Minute, load: 1}, time.Minute, 3000},
		{"a bucket that hardly refills", trial{policy: bucket, shape: one, rate: 100, window: time.Hour, load: 1}, 36 * time.Second, 3564},
		{"of the busiest key", trial{policy: fixed, shape: zipfed, rate: 110, window: time.Minute, load: 1}, time.Second, 60},
		{"one at least", trial{policy: fixed, shape: one, rate: 1, window: time.Second, load: 10}, time.Second, 1},
	} {
		if got := c.trial.events(c.length); got != c.want {
			t.Errorf("%s: %d events, want %d", c.name, got, c.want)
		}
	}
}

// Each exact algorithm gets takes at regular intervals, at twice the rate that the limit allows.
func TestAlgorithmsAdmitTheFractionOfTheLoad(t *testing.T) {
	const length = 10 * time.Second
	for _, window := range []time.Duration{time.Second, 10 * time.Second, time.Minute} {
		for kind := limiter.TokenBucket; kind <= limiter.FixedWindow; kind++ {
			tr := &trial{policy: leasing(kind), shape: shape{keys: 1}, rate: 1000, window: window, load: 2}
			rule, count := mustRule(t, tr.policy, tr.events(length), window), limiter.NewCount(limiter.Algorithm{Kind: kind})
			got := 0
			for us := limiter.Instant(0); us < limiter.Instant(length.Microseconds()); us += 1000 {
				if count.Take(rule, epoch+us, 1).OK {
					got++
				}
			}
			if got < 4_750 || got > 5_250 {
				t.Errorf("%v, window %v: %d of 10000 takes were admitted, want about 5000", kind, window, got)
			}
		}
	}
}
