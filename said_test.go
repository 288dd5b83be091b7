package fleetlimit

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// What a scratch says is what a fresh one would say, whatever it has said before.
func TestSaidIsNeverStale(t *testing.T) {
	const at = limiter.Instant(1_767_225_600_000_000)
	var rules []*rule
	for _, limit := range []limiter.Limit{{Events: 10, Window: time.Minute}, {Events: 20, Window: time.Hour}} {
		made, err := limiter.NewRule(limiter.Rule{Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		r := &rule{Rule: made, window: limit.Window}
		r.texts = newRuleTexts("zone", r)
		rules = append(rules, r)
	}
	r := rand.New(rand.NewPCG(1, 2))
	oneOf := func(n ...int64) int64 { return n[r.IntN(len(n))] }
	used, repeated := new(requestBuffers), 0
	for i := range 20_000 {
		denied := zoneResult{zone: new(zone), rule: rules[oneOf(0, 1)], headers: headerSet(oneOf(0, 1, 2, 3))}
		denied.decision = limiter.Decision{
			At: at + limiter.Instant(oneOf(0, 1)), Limit: oneOf(10, 20), Remaining: oneOf(0, 1),
			RetryAt: at + limiter.Instant(oneOf(5_000_000, 5_000_001)), ResetAt: at + limiter.Instant(oneOf(6_000_000, 7_000_000)),
		}
		style, retry := rejectStyle(oneOf(int64(rejectJSON), int64(rejectProblem))), oneOf(5, 6)
		results := []zoneResult{denied}
		if oneOf(0, 1, 2) == 0 { // another zone that has admitted the request
			results = append(results, zoneResult{zone: new(zone), rule: rules[0], headers: xHeaders | draftHeaders})
			results[1].decision.OK = true
		}
		before := used.said.about
		say := func(s *requestBuffers) (string, headerValues) {
			q := evaluation{state: &requestState{results: append([]zoneResult(nil), results...)}, buffers: s}
			body := q.say(&q.state.results[0], style, retry)
			return string(body), q.state.headers
		}
		gotBody, got := say(used)
		wantBody, want := say(new(requestBuffers))
		if gotBody != wantBody || got != want {
			t.Fatalf("rejection %d of %+v:\n%s%q, want\n%s%q", i, denied.decision, gotBody, got, wantBody, want)
		}
		if before == used.said.about && before.rule != nil {
			repeated++
		}
	}
	if repeated == 0 {
		t.Error("nothing was ever said twice in a row")
	}
}
