package membership

import (
	"testing"
	"time"
)

func TestPresence(t *testing.T) {
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name  string
		steps []presenceStep
	}{
		{"a new node", []presenceStep{
			{0, true, false}, {5 * time.Second, true, false}, {10*time.Second - 1, true, false}, {10 * time.Second, true, true},
		}},
		{"a node that Redis has never heard of", []presenceStep{
			{0, false, false}, {30 * time.Second, false, false},
		}},
		{"one announcement is lost", []presenceStep{
			{0, true, false}, {5 * time.Second, false, false}, {10 * time.Second, true, true}, {15 * time.Second, false, true},
			{20 * time.Second, true, true},
		}},
		{"two on end are lost: it may be forgotten before the next", []presenceStep{
			{0, true, false}, {10 * time.Second, true, true}, {15 * time.Second, false, true}, {20 * time.Second, false, false},
			{25*time.Second - 1, true, true},
		}},
		{"it was forgotten, and is new again", []presenceStep{
			{0, true, false}, {10 * time.Second, true, true}, {20 * time.Second, false, false}, {25 * time.Second, true, false},
			{30 * time.Second, true, false}, {35 * time.Second, true, true},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var p liveness
			for _, s := range test.steps {
				now := start.Add(s.at)
				if s.heard {
					p = p.announced(now)
				}
				if got := p.settled(now); got != s.settled {
					t.Errorf("settled after %v = %t, want %t", s.at, got, s.settled)
				}
			}
		})
	}
}

// A presenceStep is an attempt to announce, whether Redis heard it, and whether the others count the node then.
type presenceStep struct {
	at             time.Duration
	heard, settled bool
}
