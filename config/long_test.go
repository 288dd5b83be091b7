package config

import (
	"strings"
	"testing"
	"time"
)

// TestLongRates has long texts in place of a rate. Anybody who may change rules can send them. They
// are refused in milliseconds. A loop over all their beginnings would take minutes.
func TestLongRates(t *testing.T) {
	for _, words := range []string{"5 ", "5xx ", "unlimited ", "$A ", "100/1m ", "{env.A} ", "per "} {
		start := time.Now()
		if got, err := ParseLimit(strings.Repeat(words, 1<<18/len(words))); err == nil {
			t.Errorf("many %q are the limit %v, want an error", words, got)
		}
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("many %q took %v, want at most 30s", words, took)
		}
	}
}

// TestManyStatuses has more statuses than there are.
func TestManyStatuses(t *testing.T) {
	many := Statuses(strings.Fields(strings.Repeat("!404 4xx ", 1<<17)))
	start := time.Now()
	set, err := many.Compile()
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("they took %v, want at most 30s", took)
	}
	if err != nil || !set.Has(403) || set.Has(404) || set.Has(500) {
		t.Errorf("they are %v, %v, want 4xx !404", set, err)
	}
}
