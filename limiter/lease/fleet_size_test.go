package lease

import (
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

func TestFleetSize(t *testing.T) {
	minute := mustRule(t, fixed, limiter.Limit{Events: 100, Window: time.Minute})
	type count struct {
		at    limiter.Instant // s
		nodes int
	}
	for _, test := range []struct {
		name   string
		counts []count
		at     limiter.Instant // s
		want   int
	}{
		{"nothing was counted", nil, 1000, 0},
		{"too young", []count{{1000, 10}}, 1059, 0},
		{"old enough", []count{{1000, 10}}, 1060, 10},
		{"too young, though the fleet has grown since", []count{{1000, 10}, {1030, 20}}, 1059, 0},
		{"grown", []count{{1000, 10}, {1030, 20}}, 1060, 20},
		{"shrunk within the window", []count{{1000, 10}, {1100, 5}, {1110, 2}}, 1159, 10},
		{"shrunk, and shrunk more within the window", []count{{1000, 10}, {1100, 5}, {1110, 2}}, 1160, 5},
		{"shrunk before the window", []count{{1000, 10}, {1100, 5}, {1110, 2}}, 1170, 2},
		{"shrunk and grown again", []count{{1000, 10}, {1100, 5}, {1110, 2}, {1120, 7}}, 1159, 10},
		{"shrunk before the window and grown again", []count{{1000, 10}, {1100, 5}, {1110, 2}, {1120, 7}}, 1160, 7},
		{"as large as before", []count{{1000, 10}, {1100, 5}, {1110, 10}}, 1300, 10},
	} {
		var f fleetSize
		if got := f.now(); got != 0 {
			t.Errorf("nodes before any were counted = %d, want 0", got)
		}
		for _, c := range test.counts {
			f = f.with(c.at*sec, c.nodes)
			if got := f.now(); got != c.nodes {
				t.Errorf("%s: nodes at %d s = %d, want %d", test.name, c.at, got, c.nodes)
			}
		}
		if got := f.sharers(minute, test.at*sec); got != test.want {
			t.Errorf("%s: sharers at %d s = %d, want %d", test.name, test.at, got, test.want)
		}
	}
}
