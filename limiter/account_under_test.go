package limiter

import (
	"testing"
	"time"
)

func TestUnder(t *testing.T) {
	rule := func(events int64) *Rule {
		r, err := NewRule(Rule{ID: 1, Limit: Limit{Events: events, Window: time.Minute}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	const now Instant = 1_767_225_600_000_000
	var (
		a    Account
		d    Decision
		loan Loan
	)
	for _, step := range []struct {
		what         string
		do           func()
		nine, twelve bool
	}{
		{"nothing", func() {}, false, false},
		{"take under nine", func() { a.Take(rule(9), now, 1, 0, &d) }, true, false},
		{"ask under twelve", func() { a.Ask(rule(12), now, 1, 0, &loan) }, false, true},
	} {
		step.do()
		if nine, twelve := a.Under(rule(9)), a.Under(rule(12)); nine != step.nine || twelve != step.twelve {
			t.Errorf("after %s: under nine a minute %v, under twelve %v, want %v and %v",
				step.what, nine, twelve, step.nine, step.twelve)
		}
	}
}
