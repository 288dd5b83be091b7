// Package storetest holds the tests that every [limiter.Store] passes.
//
// The tests choose the instant of each take. A store with a clock of its own is tested behind a
// wrapper, which sets that clock to the instant of each call. In tests with concurrent takes the
// instant does not change. Nothing may expire by the real clock meanwhile: the instants are in
// 2026.
package storetest

import (
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// Run runs all tests, each on a store of its own. open returns a store without counts and its
// handles of the zones with these names. It registers what closes the store with t.Cleanup.
func Run(t *testing.T, open func(t *testing.T, zones ...string) (Store, map[string]limiter.Counts)) {
	themes := []struct {
		name string
		run  func(*testing.T, opener)
	}{
		{"Timelines", testTimelines},
		{"ExactInstants", testExactInstants},
		{"RepeatedDenials", testRepeatedDenials},
		{"ClockSetBack", testClockSetBack},
		{"Cost", testCost},
		{"Peek", testPeek},
		{"Refund", testRefund},
		{"Charge", testCharge},
		{"Several", testSeveral},
		{"ChangedLimit", testChangedLimit},
		{"LoweredAndRaisedLimit", testLoweredAndRaisedLimit},
		{"RefundAfterLoweredLimit", testRefundAfterLoweredLimit},
		{"Keys", testKeys},
		{"Breach", testBreach},
		{"Concurrent", testConcurrent},
		{"Operator", testOperator},
	}
	for _, theme := range themes {
		t.Run(theme.name, func(t *testing.T) { theme.run(t, open) })
	}
}

// A Store is a store whose counts a person can change.
type Store interface {
	limiter.Store
	limiter.Operator
}

type opener func(t *testing.T, zones ...string) (Store, map[string]limiter.Counts)

// start is when tests begin: 2026-01-01T00:00:00Z, the beginning of a minute and of an hour.
const start limiter.Instant = 1_767_225_600_000_000

// Durations in units of Instant.
const (
	second limiter.Instant = 1_000_000
	minute                 = 60 * second
)

// zone is the zone of tests that need only one.
const zone = "zone"

// algorithms are all algorithms, with few and with many sub-windows.
var algorithms = []struct {
	name string
	limiter.Algorithm
}{
	{"token_bucket", limiter.Algorithm{Kind: limiter.TokenBucket}},
	{"sliding_window_log", limiter.Algorithm{Kind: limiter.SlidingWindowLog}},
	{"sliding_window_1", limiter.Algorithm{Kind: limiter.SlidingWindow, SubWindows: 1}},
	{"sliding_window_7", limiter.Algorithm{Kind: limiter.SlidingWindow, SubWindows: 7}},
	{"fixed_window", limiter.Algorithm{Kind: limiter.FixedWindow}},
}

// eachAlgorithm runs test for every algorithm, with a store and a function that returns rules with a
// limit per minute. These rules have the ID 1, so they share their counts.
func eachAlgorithm(t *testing.T, open opener, test func(*testing.T, limiter.Store, func(events int64) *limiter.Rule)) {
	for _, a := range algorithms {
		t.Run(a.name, func(t *testing.T) {
			s, zones := open(t, zone)
			test(t, s, func(events int64) *limiter.Rule {
				return perMinute(t, 1, zones[zone], a.Algorithm, events)
			})
		})
	}
}

// perMinute returns a rule with this limit per minute.
func perMinute(t *testing.T, id uint32, zone limiter.Counts, a limiter.Algorithm, events int64) *limiter.Rule {
	t.Helper()
	return newRule(t, limiter.Rule{
		ID: id, Zone: zone, Algorithm: a, Limit: limiter.Limit{Events: events, Window: time.Minute},
	})
}

func newRule(t *testing.T, base limiter.Rule) *limiter.Rule {
	t.Helper()
	r, err := limiter.NewRule(base)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
