package membership

import (
	"testing"
	"time"
)

func TestNodeCount(t *testing.T) {
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name  string
		steps []countStep
	}{
		{"the fleet grows and shrinks", []countStep{
			{0, []int{1, 1, 1}, 1}, {5, []int{3, 3, 3}, 3}, {10, []int{2, 2, 2}, 3}, {15, []int{2, 2, 2}, 3}, {24, []int{2, 2, 2}, 3},
			{25, []int{2, 2, 2}, 2},
		}},
		{"Redis came back empty", []countStep{
			{0, []int{20, 20, 20}, 20}, {5, []int{1, 1, 1}, 20}, {10, []int{19, 19, 19}, 20}, {15, []int{20, 20, 20}, 20}, {20, []int{1, 1, 1}, 20},
		}},
		{"nodes have left, and then Redis came back empty", []countStep{
			{0, []int{20, 20, 20}, 20}, {5, []int{12, 12, 12}, 20}, {10, []int{15, 15, 15}, 20}, {15, []int{15, 15, 15}, 20}, {20, []int{1, 1, 1}, 15},
			{25, []int{15, 15, 15}, 15},
		}},
		{"one primary came back empty", []countStep{
			{0, []int{20, 20, 20}, 20}, {5, []int{1, 20, 20}, 20}, {10, []int{20, 20, 20}, 20},
		}},
		{"the largest number is right", []countStep{
			{0, []int{1, 20, 3}, 20},
		}},
		{"no primary has answered yet", []countStep{
			{0, nil, 0}, {5, nil, 0}, {10, []int{4}, 4},
		}},
		{"while a primary is down the number rises but does not fall", []countStep{
			{0, []int{7, 7, 7}, 7}, {5, []int{6, 6}, 7}, {10, []int{9, 8}, 9}, {15, nil, 9}, {20, []int{1}, 9},
		}},
		{"nor for 15 s after", []countStep{
			{0, []int{7, 7, 7}, 7}, {5, []int{7, 7}, 7}, {10, []int{0, 2, 2}, 7}, {24, []int{2, 2, 2}, 7}, {25, []int{2, 2, 2}, 2},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var c nodeCount
			for _, s := range test.steps {
				now := start.Add(time.Duration(s.at) * time.Second)
				if c = c.update(now, s.announced, len(s.announced) == 3); c.nodes != s.want {
					t.Errorf("nodes after %d s, when %v were announced = %d, want %d", s.at, s.announced, c.nodes, s.want)
				}
			}
		})
	}
}

// A countStep is an announcement: the numbers of nodes that the answering primaries know, and the
// number that nodeCount then has.
type countStep struct {
	at        int // seconds
	announced []int
	want      int
}
